"""The manuscript: the format-independent book from which all writers work.

A block holds a flat list of spans instead of a nested inline tree, because that is what all three writers need.
Everything here is frozen and can be pickled, since it is sent to worker processes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bookgen.models import SourceType
from bookgen.render.characters import is_wide


@dataclass(frozen=True, slots=True)
class Span:
    """Text in one style, or a forced line break (`text` is "\\n"), or a reference to note number `note` (from 0)."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    href: str = ""
    note: int | None = None


Spans = tuple[Span, ...]

MAX_ROW_LETTERS = 66  # letters of small type in a line
MAX_SHORT_TABLE_LINES = 18
MAX_HAND_LINE_LETTERS = 50
EMS_A_SPACE = 0.4  # the width of each space in a verse line's indent
USUAL_INDENT = 4  # spaces; the continuation of a long line in a poem is indented further
_MAX_OUTPUT_LINES = 6
_MAX_LABEL_LETTERS = 30
_NO_LABEL_ENDS = tuple("!?…,;\"'”’»“«—–。！？」』")
LABEL_ENDS = tuple(".:!。：！")
_SPEECH = re.compile(r"[—–]\s?[¿¡]?[^\W\d_]")
TURNED_EMS = 1.5  # from the deepest indent of a poem to the continuation of its long lines
POEM_TURNED_EMS = USUAL_INDENT * EMS_A_SPACE + TURNED_EMS  # the same from the left, if no line is indented further


def lines_by_hand(spans: Spans) -> tuple[Spans, ...]:
    """Split the spans at forced line breaks. Empty lines are dropped."""
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

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a chapter. Level 2 is the highest, since the chapter's title is level 1."""

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

    def sign(self, item: int, *, outer: bool, bullets: str) -> str:
        """The mark before an item (counted from 0). `bullets`: one for outer and one for inner lists."""
        if self.start is not None:
            return f"{self.start + item}."
        if self.ticked:
            return "☑" if self.ticked[item] else "☐"
        return bullets[0] if outer else bullets[1]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `aligns` has "left", "right" or "center" for each column. Every row has one cell for each column."""

    aligns: tuple[str, ...]
    head: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]

    @property
    def is_short(self) -> bool:
        """Whether the table takes about half a page at most: an estimate, as EPUB and Word have no fixed pages."""
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
    """Lines whose breaks are kept, such as a poem, a song or an inscription.

    `indents`: the spaces before each line; empty if no line is indented. `poem_indent`: in a book of verse, the spaces
    before the most indented line of the whole poem, at least USUAL_INDENT; otherwise 0.
    """

    lines: tuple[Spans, ...]
    indents: tuple[int, ...] = ()
    poem_indent: int = 0

    def indent(self, line: int) -> float:
        """The indent of a line in ems."""
        return self.indents[line] * EMS_A_SPACE if self.indents else 0.0

    @property
    def deepest(self) -> float:
        """The deepest indent of the poem in ems. Continuations of long lines are indented further."""
        return max(self.poem_indent, *self.indents, 0) * EMS_A_SPACE


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
    """All texts of a block: one item for each paragraph, table cell, line of code or line of verse."""
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
    """Whether a paragraph consists of short lines with forced breaks, as an address or a signature does."""
    lines = lines_by_hand(spans)
    return len(lines) > 1 and all(sum(len(span.text) for span in line) <= MAX_HAND_LINE_LETTERS for line in lines)


def is_speech_after(block: Block, before: Sequence[Block]) -> bool:
    """Whether the block is a paragraph that begins with a dash, below a quotation, a list, a table or the like.

    In languages that write speech with dashes, such a paragraph has an indent.
    """
    if not isinstance(block, Paragraph) or not before or isinstance(before[-1], Paragraph | Heading | SceneBreak):
        return False
    return _SPEECH.match("".join(span.text for span in block.spans)) is not None


def begins_with(spans: Spans, marks: str) -> bool:
    """Whether a paragraph begins with one of the marks."""
    first = next((span.text[0] for span in spans if span.text), "")
    return first != "" and first in marks


def announces(blocks: Sequence[Block], index: int) -> bool:
    """Whether the block belongs to the next block, so that both stay on one page.

    True for a paragraph that ends with a colon before a list, a table or the like, for a short line in bold or italics,
    such as a date, and for code before a few lines of code, which are what the program prints. Of several lines in bold
    or italics, those between the first and the last may be parted.
    """
    block, before, after = blocks[index], blocks[:index][-1:], blocks[index + 1 : index + 2]
    if isinstance(block, Code) and after and isinstance(after[0], Code):
        return len(after[0].lines) <= _MAX_OUTPUT_LINES
    if not isinstance(block, Paragraph) or not after or isinstance(after[0], SceneBreak):
        return False
    if _is_short_line(block):
        return not (_is_short_line(after[0]) and before and _is_short_line(before[0]))
    return not isinstance(after[0], Paragraph) and block.text.rstrip().endswith((":", "："))


def is_label(block: Block) -> bool:
    """Whether the block is a short line in bold that is no sentence: the date of a diary, the name of a form."""
    if not isinstance(block, Paragraph) or not _is_short_line(block, styles=("bold",)):
        return False
    text = block.text.strip()
    is_sentence = text.endswith(".") and not (text.isupper() or any(map(str.isdigit, text)))
    return not is_sentence and not text.endswith(_NO_LABEL_ENDS)


def needs_space_above(blocks: Sequence[Block], index: int) -> bool:
    """Whether the block is a label with a blank line above it: not the first block, nor below a heading or a label."""
    above = blocks[:index][-1:]
    return is_label(blocks[index]) and bool(above) and not (isinstance(above[0], Heading) or is_label(above[0]))


def _is_short_line(block: Block, *, styles: Sequence[str] = ("bold", "italic")) -> bool:
    """Whether the block is a paragraph of one short line that is in one of the styles as a whole."""
    if not isinstance(block, Paragraph) or any(span.text == "\n" for span in block.spans):
        return False
    spans = [span for span in block.spans if span.text.strip()]
    letters = sum(1 + is_wide(letter) for letter in block.text)
    styled = any(all(getattr(span, style) for span in spans) for style in styles)
    return bool(spans) and letters <= MAX_HAND_LINE_LETTERS and styled


def stands_apart(blocks: Sequence[Block], index: int) -> bool:
    """Whether the block is a paragraph with a label in bold, such as "**Warning.**", that needs space around it.

    It does not if the paragraph above or below has a label too, as in a glossary, an interview or a play.
    """
    around = (*blocks[:index][-1:], *blocks[index + 1 : index + 2])
    return _is_labelled(blocks[index]) and not any(map(_is_labelled, around))


def _is_labelled(block: Block) -> bool:
    """Whether the block is a paragraph that begins with a label of a few words."""
    label, rest = label_of(block.spans) if isinstance(block, Paragraph) else ("", ())
    return 0 < len(label) <= _MAX_LABEL_LETTERS and any(span.text.strip(" \n:：") for span in rest)


def label_of(spans: Spans) -> tuple[str, Spans]:
    """The label in bold with which a paragraph begins, and what follows. A label ends with a stop or a colon.

    The label is empty if the paragraph has none.
    """
    start = next((at for at, span in enumerate(spans) if not span.bold or span.note is not None), len(spans))
    label, rest = "".join(span.text for span in spans[:start]).strip(), spans[start:]
    has_end = label.endswith(LABEL_ENDS) or (rest and rest[0].text.lstrip().startswith((":", "：")))
    return (label if has_end else ""), rest


@dataclass(frozen=True, slots=True)
class Picture:
    """A JPEG image with its size in pixels."""

    data: bytes = field(repr=False)
    width: int
    height: int

    def printed(self, width: float, height: float) -> tuple[float, float]:
        """The printed size in points, at 300 dpi or smaller, so that it fits into `width` by `height`."""
        wide = min(width, self.width / 300 * 72)
        tall = wide * self.height / self.width
        return (wide, tall) if tall <= height else (wide * height / tall, height)


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A chapter's picture. `position`: how many of the chapter's blocks come before it."""

    chapter_id: int
    position: int
    picture: Picture
    alt: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Poem:
    """A poem in the table of contents. `block`: the index of its heading in the chapter. `anchor`: its link target.

    `begins_page`: whether it begins a new page.
    """

    block: int
    title: str
    anchor: str
    begins_page: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter. `id` is its id in the service.

    A book's only chapter is not `numbered`. `repeats_book_title`: the chapter has the book's title. `labelled`: the
    first block is a notice above the text. `verse`: the book is a book of verse. `titled_alone`: no number is shown
    above the title, as of a separate story or of an act of a play. `poems`: the poems of this chapter that are in the
    table of contents.
    """

    id: int
    number: int
    title: str
    blocks: tuple[Block, ...]
    notes: tuple[tuple[Block, ...], ...] = ()
    numbered: bool = True
    repeats_book_title: bool = False
    labelled: bool = False
    verse: bool = False
    titled_alone: bool = False
    poems: tuple[Poem, ...] = ()

    @property
    def name(self) -> str:
        """The chapter's title, or its number if it has no title."""
        return self.title.strip() or str(self.number)

    @property
    def figures(self) -> list[Figure]:
        """The chapter's figures. They are top-level blocks, never inside another block."""
        return [block for block in self.blocks if isinstance(block, Figure)]

    def without_figures(self) -> Section:
        return replace(self, blocks=tuple(block for block in self.blocks if not isinstance(block, Figure)))


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A book as all writers see it. `year` is the year of the copyright, `changed` the time of the last change in UTC.

    `blurb` has one paragraph per line. The author's idea for the book is never printed, so it is not included.
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
    ages: str = ""  # the readers' ages if this is a picture book
    notice: str = ""  # the notice on the first page if the book has sample text
    source: SourceType | None = None  # the origin that the files' metadata names, if any

    @property
    def has_contents(self) -> bool:
        """Whether a table of contents would list more than one chapter or poem."""
        return any(chapter.numbered or len(chapter.poems) > 1 for chapter in self.chapters)

    @property
    def figures(self) -> list[Figure]:
        return [figure for chapter in self.chapters for figure in chapter.figures]
