"""The view: the text of earlier chapters, word for word, as far as the model's context window reaches.

Each chapter is a block of its own, in order, so that the prompt of a chapter begins with the prompt of the one before
it and providers read it from their cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.words import tokens
from bookgen.writing.fence import fenced
from bookgen.writing.material import Material

HEADING_TOKENS = 40  # around the text of a chapter
# Of the room, when the oldest chapters have to leave: if they left one by one, each call would begin in another way and
# find nothing in the cache.
KEPT_SHARE = 0.5

SHOWN = """\
Chapter {number}, {title}, as the book has it:
{text}"""


@dataclass(frozen=True, slots=True)
class ShownChapters:
    """The chapters whose text is shown, and their blocks of the prompt."""

    chapters: tuple[Chapter, ...] = ()
    blocks: tuple[str, ...] = ()

    @property
    def numbers(self) -> set[int]:
        return {chapter.chapter_number for chapter in self.chapters}


def view_before(material: Material, number: int, room: int) -> ShownChapters:
    """The view of a call about chapter `number` that has room for so many tokens. Slow for a long book."""
    before = material.written_before(number)
    shown = tuple(before[first_shown([size(chapter.content) for chapter in before], room) :])
    return ShownChapters(shown, tuple(map(_block, shown)))


def first_shown(sizes: Sequence[int], room: int) -> int:
    """The index of the first chapter that is shown, given the tokens of each chapter in order.

    The result depends only on what stands before each chapter, so it is the same for many calls in a row.
    """
    first = total = 0
    for last, tokens_taken in enumerate(sizes):
        total += tokens_taken
        if total > room:
            while first <= last and (total > room or (total > room * KEPT_SHARE and first < last)):
                total -= sizes[first]
                first += 1
    return first


def size(content: str) -> int:
    """The tokens that the text of a chapter takes in a view."""
    return tokens(content) + HEADING_TOKENS


def _block(chapter: Chapter) -> str:
    text = fenced("chapter", chapter.content)
    return SHOWN.format(number=chapter.chapter_number, title=chapter.title, text=text)
