"""Divides a book into overlapping parts, each short enough for one model call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.words import tokens
from bookgen.writing import sentences
from bookgen.writing.proofreading.structure import blocks

MAX_REPLY_TOKENS, REPLY_SHARE = 16_000, 0.2  # of a call's window
MAX_FRAME_TOKENS, FRAME_SHARE = 16_000, 0.38  # instructions, book, bible, plan, what earlier parts told
OVERLAP_SHARE = 0.1  # of a part: the end of the part before it
HEADING_TOKENS = 30  # around the text of a chapter


@dataclass(frozen=True, slots=True)
class Portion:
    """`chapter.content[start:end]`."""

    chapter: Chapter
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.chapter.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class BookPart:
    """What one call reads: portions of successive chapters, as part `number` of `count`."""

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
    """The tokens of a window that are kept free for the reply."""
    return min(MAX_REPLY_TOKENS, round(window * REPLY_SHARE))


def frame_tokens(window: int) -> int:
    """The tokens reserved for everything in the prompt except the book's text."""
    return min(MAX_FRAME_TOKENS, round(window * FRAME_SHARE))


def text_tokens(window: int) -> int:
    """The tokens of a window for the book's text."""
    return max(window - reply_tokens(window) - frame_tokens(window), 1)


def parts_of(chapters: Sequence[Chapter], window: int) -> list[BookPart]:
    """The written chapters as one part if a window of so many tokens holds them, else as parts that overlap."""
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


_Piece = tuple[Portion, int]  # with its tokens


def _pieces(chapters: Sequence[Chapter], room: int) -> Iterator[_Piece]:
    """The paragraphs of the book; of one that is longer than half a part its sentences, cut where they never end."""
    for chapter in chapters:
        offset, cost = 0, HEADING_TOKENS
        for start, block in blocks(chapter.content):
            for end in _cuts(start, block, room // 2):
                portion = Portion(chapter, offset, end)
                yield portion, tokens(portion.text) + cost
                offset, cost = end, 0


def _cuts(start: int, block: str, most: int) -> Iterator[int]:
    """The offsets behind each piece of a paragraph that begins at `start`."""
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
    """The index behind the last piece that fits a part that begins with the piece `first`; it has at least one."""
    used = 0
    for index in range(first, len(pieces)):
        used += pieces[index][1]
        if used > room and index > first:
            return index
    return len(pieces)


def _overlap(pieces: Sequence[_Piece], first: int, end: int, room: int) -> int:
    """The index of the first piece that a part before `end` and the one after it share."""
    used = 0
    for index in range(end - 1, first, -1):
        used += pieces[index][1]
        if used > room * OVERLAP_SHARE:
            return index + 1
    return end


def _joined(portions: Sequence[Portion]) -> Iterator[Portion]:
    """Successive portions of one chapter as one."""
    current = portions[0]
    for portion in portions[1:]:
        if portion.chapter.chapter_number == current.chapter.chapter_number:
            current = Portion(current.chapter, current.start, portion.end)
        else:
            yield current
            current = portion
    yield current
