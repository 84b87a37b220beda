"""Divides a book into overlapping parts, each short enough for one model call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.words import tokens
from bookgen.writing import sentences
from bookgen.writing.proofreading.structure import blocks

# Shares of a call's context window.
MAX_REPLY_TOKENS, REPLY_SHARE = 16_000, 0.2
MAX_FRAME_TOKENS, FRAME_SHARE = 16_000, 0.38  # instructions, book data, bible, plan, summaries of earlier chapters
OVERLAP_SHARE = 0.1  # of a part: how much it repeats of the part before it
HEADING_TOKENS = 30  # for the heading and the fence of a chapter


@dataclass(frozen=True, slots=True)
class Portion:
    """A piece of a chapter: `chapter.content[start:end]`."""

    chapter: Chapter
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.chapter.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class BookPart:
    """The text that one call reads: portions of successive chapters, as part `number` of `count`."""

    portions: tuple[Portion, ...]
    number: int
    count: int

    @property
    def is_whole_book(self) -> bool:
        return self.count == 1

    @property
    def first_chapter(self) -> int:
        return self.portions[0].chapter.chapter_number

    @property
    def last_chapter(self) -> int:
        return self.portions[-1].chapter.chapter_number

    def holds(self, chapter_number: int, start: int, end: int) -> bool:
        """Whether the part contains this span of the chapter's content."""
        return any(
            portion.chapter.chapter_number == chapter_number and portion.start <= start and end <= portion.end
            for portion in self.portions
        )


def reply_tokens(window: int) -> int:
    """The tokens of a window reserved for the reply."""
    return min(MAX_REPLY_TOKENS, round(window * REPLY_SHARE))


def frame_tokens(window: int) -> int:
    """The tokens of a window reserved for everything in the prompt except the book's text."""
    return min(MAX_FRAME_TOKENS, round(window * FRAME_SHARE))


def text_tokens(window: int) -> int:
    """The tokens of a window that the book's text may take."""
    return max(window - reply_tokens(window) - frame_tokens(window), 1)


def parts_of(chapters: Sequence[Chapter], window: int) -> list[BookPart]:
    """Divide the chapters into overlapping parts, or into one part if all fit. `window`: tokens of one call."""
    pieces = list(_pieces(chapters, text_tokens(window)))
    found: list[tuple[Portion, ...]] = []
    first = 0
    while first < len(pieces):
        end = _end_of_part(pieces, first, text_tokens(window))
        found.append(tuple(_joined([portion for portion, _ in pieces[first:end]])))
        if end == len(pieces):
            break
        first = max(_overlap(pieces, first, end, text_tokens(window)), first + 1)
    return [BookPart(portions, number, len(found)) for number, portions in enumerate(found, 1)]


_Piece = tuple[Portion, int]  # the portion and its tokens


def _pieces(chapters: Sequence[Chapter], room: int) -> Iterator[_Piece]:
    """Yield the paragraphs of the book. A paragraph longer than half a part is split into sentences.

    A sentence that is longer than half a part is split as well. `room`: the tokens of a part.
    """
    for chapter in chapters:
        offset, cost = 0, HEADING_TOKENS
        for start, block in blocks(chapter.content):
            for end in _cuts(start, block, room // 2):
                portion = Portion(chapter, offset, end)
                yield portion, tokens(portion.text) + cost
                offset, cost = end, 0


def _cuts(start: int, block: str, most: int) -> Iterator[int]:
    """The end offset of each piece of a paragraph that begins at `start`. `most`: the tokens of a piece."""
    if tokens(block) <= most:
        yield start + len(block)
        return
    characters = max(most // 2, 1)  # no character takes two tokens
    place = 0
    for end in (*sentences.ends(block), len(block)):
        while place < end:
            place = min(end, place + characters)
            yield start + place


def _end_of_part(pieces: Sequence[_Piece], first: int, room: int) -> int:
    """The index after the last piece of the part that begins with piece `first`. A part has at least one piece."""
    used = 0
    for index in range(first, len(pieces)):
        used += pieces[index][1]
        if used > room and index > first:
            return index
    return len(pieces)


def _overlap(pieces: Sequence[_Piece], first: int, end: int, room: int) -> int:
    """The index of the piece where the next part begins, so that it repeats the end of the part `first:end`."""
    used = 0
    for index in range(end - 1, first, -1):
        used += pieces[index][1]
        if used > room * OVERLAP_SHARE:
            return index + 1
    return end


def _joined(portions: Sequence[Portion]) -> Iterator[Portion]:
    """Merge successive portions of the same chapter."""
    current = portions[0]
    for portion in portions[1:]:
        if portion.chapter.chapter_number == current.chapter.chapter_number:
            current = Portion(current.chapter, current.start, portion.end)
        else:
            yield current
            current = portion
    yield current
