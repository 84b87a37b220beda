"""Rows: the horizontal strips that pages consist of. Heights are measured in lines of the book's baseline grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bookgen.render.layout.lines import Line
from bookgen.render.layout.words import Words
from bookgen.render.model import Picture


@dataclass(slots=True, eq=False)
class Element:
    """A node of the document's logical structure. Roles and attributes have PDF's names."""

    role: str
    kids: list[Element] = field(default_factory=list)
    alt: str = ""
    attributes: str = ""

    def child(self, role: str, alt: str = "", attributes: str = "") -> Element:
        kid = Element(role, alt=alt, attributes=attributes)
        self.kids.append(kid)
        return kid


@dataclass(slots=True)
class TextMark:
    """A line of text, `dy` points above the row's baseline.

    Without an element, it is an artifact in the PDF, such as a page number.
    """

    line: Line
    x: float
    size: float
    element: Element | None = None
    dy: float = 0.0


@dataclass(slots=True)
class Rule:
    x: float
    width: float
    dy: float = 0.0


@dataclass(slots=True)
class Image:
    picture: Picture
    x: float
    dy: float
    width: float
    height: float
    element: Element


@dataclass(slots=True)
class Fill:
    """A rectangle filled with one colour."""

    x: float
    dy: float
    width: float
    height: float
    colour: tuple[int, int, int]


Mark = TextMark | Rule | Image | Fill


@dataclass(slots=True)
class Row:
    """A row. `units` is its height in grid lines, a multiple of 1/16. `first`, `last`: a paragraph begins or ends here.

    `keep`: the next row stays on the same page. `together`: the next row stays on the same page unless a third of the
    page would be empty. `loose`: a page that ends after this row need not be full. `begins_page`: this row is the first
    of its page. `block` and `word` identify the text that begins here, and `notes` the notes that this text refers to.
    `head` is repeated above this row if a page starts with this row. `anchor`: the link target here. `off_grid`: this
    row may be between two grid lines.
    """

    marks: list[Mark] = field(default_factory=list)
    units: float = 1
    keep: bool = False
    together: bool = False
    loose: bool = False
    begins_page: bool = False
    first: bool = True
    last: bool = True
    blank: bool = False
    block: int = -1
    word: int = 0
    notes: tuple[int, ...] = ()
    head: tuple[Row, ...] = ()
    paragraph: int = -1
    anchor: str = ""
    off_grid: bool = False


def text_rows(
    lines: Sequence[Line],
    words: Words,
    x: float,
    size: float,
    element: Element,
    *,
    block: int,
    before: int = 0,
    keep: bool = False,
    paragraph: int = -1,
) -> list[Row]:
    """One row for each of the `lines` into which `words` were broken.

    `before`: how many words of the same block precede `words`. `keep`: each row stays on the same page as the next row.
    `paragraph`: the number under which the chapter's `Looseness` can set the paragraph again; -1 if it cannot.
    """
    return [
        Row(
            marks=[TextMark(line, x, size, element)],
            keep=keep,
            first=index == 0,
            last=index == len(lines) - 1,
            block=block,
            word=before + line.word,
            notes=notes_in(words, line),
            paragraph=paragraph,
        )
        for index, line in enumerate(lines)
    ]


def notes_in(words: Words, line: Line) -> tuple[int, ...]:
    return tuple(note for word in line.words for note in words.notes.get(word, ())) if words.notes else ()


def blank(units: float = 1, *, keep: bool = False) -> Row:
    return Row(units=units, keep=keep, blank=True)
