"""The manuscript: what every writer walks, and nothing a writer could disagree about.

Text is flat: a block holds spans, not nested inline trees, since that is what all three writers need.
Everything here is frozen and picklable; it crosses into the worker processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bookgen.models import SourceType


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text set in one way. `text` "\\n" is a forced line break; `note` points into the chapter's notes."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    href: str = ""
    note: int | None = None


Spans = tuple[Span, ...]

MAX_ROW_LETTERS = 66  # of small type across a page
MAX_SHORT_TABLE_LINES = 18
MAX_HAND_LINE_LETTERS = 50


def lines_by_hand(spans: Spans) -> tuple[Spans, ...]:
    """The spans between forced line breaks; a line with nothing on it is none."""
    lines: list[list[Span]] = [[]]
    for span in spans:
        if span.text == "\n":
            lines.append([])
        else:
            lines[-1].append(span)
    return tuple(tuple(line) for line in lines if line)


@dataclass(frozen=True, slots=True)
class Paragraph:
    spans: Spans


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a chapter; level 2 is the highest, since the chapter's own title is level 1."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class Quote:
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ItemList:
    """A bulleted list, or a numbered one that counts from `start`.

    A checklist has a box for each item, ticked or not.
    """

    items: tuple[tuple[Block, ...], ...]
    start: int | None = None
    ticked: tuple[bool, ...] = ()

    def sign(self, item: int, *, outer: bool) -> str:
        """What stands before an item, counted from 0; an outer list has other marks than those within lists."""
        if self.start is not None:
            return f"{self.start + item}."
        if self.ticked:
            return "☑" if self.ticked[item] else "☐"
        return "•" if outer else "–"


@dataclass(frozen=True, slots=True)
class Table:
    """`aligns` has one of "left", "right", "center" for each column; every row is that long."""

    aligns: tuple[str, ...]
    head: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]

    @property
    def is_short(self) -> bool:
        """Whether it takes about half a page at most, where the pages are made by another program."""
        width = MAX_ROW_LETTERS / len(self.aligns)
        lines = 0.0
        for row in (self.head, *self.rows):
            lines += max(1 + sum(len(span.text) for span in cell) // width for cell in row)
            if lines > MAX_SHORT_TABLE_LINES:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Code:
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verse:
    """Lines that keep their ends: a quoted poem, a song, an inscription."""

    lines: tuple[Spans, ...]


@dataclass(frozen=True, slots=True)
class SceneBreak:
    pass


@dataclass(frozen=True, slots=True)
class Figure:
    picture: Picture
    alt: str
    caption: Spans = ()


Block = Paragraph | Heading | Quote | ItemList | Table | Code | Verse | SceneBreak | Figure


def spans_of(block: Block) -> list[Spans]:
    """The texts of a block, whatever its form, each as one paragraph."""
    match block:
        case Paragraph(spans) | Heading(_, spans):
            return [spans]
        case Quote(blocks):
            return [spans for inner in blocks for spans in spans_of(inner)]
        case ItemList(items):
            return [spans for item in items for inner in item for spans in spans_of(inner)]
        case Table(_, head, rows):
            return [spans for row in (head, *rows) for spans in row if spans]
        case Code(lines):
            return [(Span(line),) for line in lines if line.strip()]
        case Verse(lines):
            return list(lines)
    return []


def stands_in_lines(spans: Spans) -> bool:
    """Whether a paragraph is short lines that were ended by hand, as an address or a signature is."""
    lines = lines_by_hand(spans)
    return len(lines) > 1 and all(sum(len(span.text) for span in line) <= MAX_HAND_LINE_LETTERS for line in lines)


def announces(block: Block, following: Sequence[Block]) -> bool:
    """Whether a paragraph ends with a colon and a list, a table or the like stands below it."""
    if not isinstance(block, Paragraph) or not following or isinstance(following[0], Paragraph):
        return False
    return "".join(span.text for span in block.spans).rstrip().endswith((":", "："))


@dataclass(frozen=True, slots=True)
class Picture:
    """A JPEG as it goes into every file; its pixels are never scaled here."""

    data: bytes = field(repr=False)
    width: int
    height: int

    def printed(self, width: float, height: float) -> tuple[float, float]:
        """How large in points: 300 pixels an inch, or more where there is less room than for that."""
        wide = min(width, self.width / 300 * 72)
        tall = wide * self.height / self.width
        return (wide, tall) if tall <= height else (wide * height / tall, height)


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A chapter's picture; `position` is how many of the chapter's blocks stand before it."""

    chapter_id: int
    position: int
    picture: Picture
    alt: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter: its id in the service, its number, its title, its blocks and its notes.

    The only chapter of a book is not `numbered`; `repeats_book_title` says that its title is the book's.
    `labelled`: its first block is a label that stands above its text.
    """

    id: int
    number: int
    title: str
    blocks: tuple[Block, ...]
    notes: tuple[tuple[Block, ...], ...] = ()
    numbered: bool = True
    repeats_book_title: bool = False
    labelled: bool = False

    @property
    def name(self) -> str:
        """Its title, or its number where it has none."""
        return self.title.strip() or str(self.number)

    @property
    def figures(self) -> list[Figure]:
        """They stand between its blocks, never within one."""
        return [block for block in self.blocks if isinstance(block, Figure)]

    def without_figures(self) -> Section:
        return replace(self, blocks=tuple(block for block in self.blocks if not isinstance(block, Figure)))


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A book as every writer walks it. `year` is its copyright's, `changed` its last change, in UTC.

    `blurb`: a paragraph a line. The author's idea is not here: it is never printed.
    """

    id: str
    title: str
    subtitle: str
    author: str
    language: str
    trim: str
    year: int
    changed: datetime
    subject: str
    blurb: str
    chapters: tuple[Section, ...]
    cover: Picture | None = None
    watermark: str = ""
    ages: str = ""  # of the readers of a picture book, whose chapters are spreads
    notice: str = ""  # what the first page says of sample text
    source: SourceType | None = None  # what the files' metadata says of their origin; None: nothing

    @property
    def has_contents(self) -> bool:
        """Whether there is more than one chapter to list."""
        return any(chapter.numbered for chapter in self.chapters)

    @property
    def figures(self) -> list[Figure]:
        return [figure for chapter in self.chapters for figure in chapter.figures]
