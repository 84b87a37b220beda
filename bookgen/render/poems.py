"""The poems of a book of verse: their titles for the contents, and their indents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from bookgen.render.headings import says_the_same
from bookgen.render.model import USUAL_INDENT, Block, Heading, Poem, Quote, Section, Spans, Verse


def with_poems(section: Section) -> Section:
    """The chapter with its poems, and in each stanza the deepest indent of its poem.

    A poem begins with a heading. Headings below the chapter's highest level are parts of a poem. A chapter that is one
    poem of its own title has none to list.
    """
    section = replace(section, blocks=tuple(_with_poem_indents(section.blocks)))
    titles = [(index, block) for index, block in enumerate(section.blocks) if isinstance(block, Heading)]
    highest = min((block.level for _, block in titles), default=0)
    found = [(index, _title(block.spans)) for index, block in titles if block.level == highest]
    named = [(index, title) for index, title in found if title]
    if len(named) == 1 and says_the_same(named[0][1], section.title):
        return section
    poems = (Poem(index, title, f"poem-{section.number}-{number}") for number, (index, title) in enumerate(named, 1))
    return replace(section, poems=tuple(poems))


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
