"""The view: the text of earlier chapters, word for word, as far as the model's context window reaches.

Each chapter is a separate block, in order. The prompt of a chapter thus begins with the prompt of the chapter before,
and providers read that beginning from their cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bookgen.models import Chapter, has_separate_stories
from bookgen.providers.text import Block
from bookgen.words import tokens
from bookgen.writing.fence import fenced
from bookgen.writing.material import Material

HEADING_TOKENS = 40  # around the text of a chapter
# The share of the room that stays filled when the oldest chapters no longer fit. If they were left out one at a time,
# the start of each prompt would change, and the cache would never be used.
KEPT_SHARE = 0.5
# Cached tokens cost a tenth to a twentieth of the normal price. If the cached prompt is more than this many times as
# long as the chapter, reading it costs more than sending the chapter alone.
MAX_VIEWS_READ = 20

SHOWN = """\
Chapter {number}, {title}, as it is in the book:
{text}"""


@dataclass(frozen=True, slots=True)
class ShownChapters:
    """The chapters whose text is in the prompt, and the prompt's blocks with these texts."""

    chapters: tuple[Chapter, ...] = ()
    blocks: tuple[Block, ...] = ()

    @property
    def prefix(self) -> tuple[Block, ...]:
        """The blocks, with the last one marked as the end of the prompt's cached prefix."""
        last = len(self.blocks) - 1
        return tuple(replace(block, cache=place == last) for place, block in enumerate(self.blocks))

    @property
    def size(self) -> int:
        return sum(block.tokens for block in self.blocks)

    @property
    def numbers(self) -> set[int]:
        return {chapter.chapter_number for chapter in self.chapters}


def view_before(material: Material, number: int, room: int) -> ShownChapters:
    """The last chapters before chapter `number` whose texts fit in `room` tokens. Slow for a long book.

    None for a collection of separate stories: their text would only pull on the voice of the next one.
    """
    if has_separate_stories(material.book):
        return ShownChapters()
    before = material.written_before(number)
    sizes = [size(chapter.content) for chapter in before]
    first = first_shown(sizes, room)
    return ShownChapters(tuple(before[first:]), tuple(map(_block, before[first:], sizes[first:])))


def first_shown(sizes: Sequence[int], room: int) -> int:
    """The index of the first chapter to show, so that the texts from that chapter to the last fit in `room` tokens.

    `sizes`: the tokens of each chapter. If none fits, the result is the number of chapters. When the texts no longer
    fit, several chapters are left out at once. The index then stays the same for the next calls, so that they can use
    the cached prompt.
    """
    first = total = 0
    for last, tokens_taken in enumerate(sizes):
        total += tokens_taken
        if total > room:
            while first <= last and (total > room or (total > room * KEPT_SHARE and first < last)):
                total -= sizes[first]
                first += 1
    return first


def is_read_alone(chapter: int, prompt: int) -> bool:
    """Whether a chapter's digest costs less if the request has only that chapter's text, of `chapter` tokens.

    The alternative is a request that begins with the cached texts of all shown chapters, of `prompt` tokens.
    """
    return prompt > chapter * MAX_VIEWS_READ


def size(content: str) -> int:
    """The tokens that the text of a chapter takes in a view."""
    return tokens(content) + HEADING_TOKENS


def _block(chapter: Chapter, tokens_taken: int) -> Block:
    text = fenced("chapter", chapter.content)
    return Block(SHOWN.format(number=chapter.chapter_number, title=chapter.title, text=text), size=tokens_taken)
