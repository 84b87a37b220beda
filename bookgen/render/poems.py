"""The poems of a book of verse: their titles for the contents, and their indents."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from bookgen.render.headings import says_the_same
from bookgen.render.model import USUAL_INDENT, Block, Heading, Poem, Quote, Section, Spans, Verse

# A number from 1 to 99, in digits or Roman numerals, as the heading of a part: "I", "ii.", "(3)".
_ROMAN = r"(?=[XLVI])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
MAX_SHARED_LINES = 8  # of a poem that may share its page with another
_MAX_EPIGRAPH_LINES = 3  # lines above a chapter's first title; more of them are a poem
_NUMBER = re.compile(rf"[\W_]*(?:\d{{1,2}}|{_ROMAN}|{_ROMAN.lower()})[\W_]*")


def with_poems(section: Section) -> Section:
    """The chapter with its `poems` filled in. Each stanza also gets the `poem_indent` of its poem.

    A poem begins with a heading of the chapter's highest level. Lower headings, and headings that are only a number,
    belong to the poem above them. If the chapter's only poem has the chapter's title, `poems` stays empty.

    A poem begins a new page, unless it and the poem before it both have at most MAX_SHARED_LINES lines. The first poem
    usually stays on the chapter's first page. It begins a new page only if it stands below other verse that is longer
    than an epigraph, and both together have more than MAX_SHARED_LINES lines.
    """
    section = replace(section, blocks=tuple(_with_poem_indents(section.blocks)))
    headings = [
        (index, block.level, _title(block.spans))
        for index, block in enumerate(section.blocks)
        if isinstance(block, Heading)
    ]
    titles = [each for each in headings if each[2] and not _NUMBER.fullmatch(each[2])]
    highest = min((level for _, level, _ in titles), default=0)
    named = [(index, title) for index, level, title in titles if level == highest]
    if len(named) == 1 and says_the_same(named[0][1], section.title):
        return section
    lengths = [_lines(part) for part in _parts(section.blocks, [index for index, _ in named])]
    opening = _lines([block for block in section.blocks[: named[0][0] if named else 0] if isinstance(block, Verse)])
    opens = opening > _MAX_EPIGRAPH_LINES and sum(lengths[:1], opening) > MAX_SHARED_LINES
    begins = [opens, *(max(two) > MAX_SHARED_LINES for two in pairwise(lengths))]
    poems = (
        Poem(index, title, f"poem-{section.number}-{number}", begins[number - 1])
        for number, (index, title) in enumerate(named, 1)
    )
    return replace(section, poems=tuple(poems))


def _parts(blocks: Sequence[Block], titles: Sequence[int]) -> Iterator[Sequence[Block]]:
    """The blocks of each poem below its title."""
    return (blocks[title + 1 : end] for title, end in pairwise([*titles, len(blocks)]))


def _lines(blocks: Sequence[Block]) -> float:
    """The number of lines of a poem, plus one between two stanzas. Infinite if not all of it is verse."""
    stanzas = [len(block.lines) if isinstance(block, Verse) else math.inf for block in blocks]
    return sum(stanzas) + len(stanzas) - 1


def _with_poem_indents(blocks: Sequence[Block]) -> Iterator[Block]:
    titles = (index for index, block in enumerate(blocks) if isinstance(block, Heading))
    for first, end in pairwise([0, *titles, len(blocks)]):
        deepest = max(map(_deepest, blocks[first:end]), default=0)
        yield from (_in_poem(block, max(deepest, USUAL_INDENT)) for block in blocks[first:end])


def _deepest(block: Block) -> int:
    match block:
        case Verse():
            return max(block.indents, default=0)
        case Quote(blocks):
            return max(map(_deepest, blocks), default=0)
    return 0


def _in_poem(block: Block, deepest: int) -> Block:
    match block:
        case Verse():
            return replace(block, poem_indent=deepest)
        case Quote(blocks):
            return Quote(tuple(_in_poem(inner, deepest) for inner in blocks))
    return block


def _title(spans: Spans) -> str:
    """The title in one line, without references to notes."""
    return " ".join("".join(span.text for span in spans).split())
