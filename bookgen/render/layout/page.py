"""A finished layout: numbered pages with marks at their places."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.rows import Element, Mark


@dataclass(slots=True)
class Placed:
    """A mark whose row has its baseline at (x, y), in points from the page's lower left."""

    mark: Mark
    x: float
    y: float


@dataclass(slots=True)
class Link:
    """A rectangle that leads to a named place in the book, or to an address."""

    x: float
    y: float
    width: float
    height: float
    anchor: str = ""
    href: str = ""


@dataclass(slots=True)
class Page:
    """`label` is the printed folio, whether or not it is shown; `kind` is what preview-data calls it."""

    kind: str
    label: str = ""
    chapter: int | None = None
    placed: list[Placed] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PageStart:
    """The first text of a page: which block of which chapter, and which of its words."""

    chapter: int
    label: str
    block: int
    word: int


@dataclass(frozen=True, slots=True)
class Pagination:
    """What the other formats take from the layout: how many pages, where chapters begin and where pages do."""

    pages: int
    chapter_labels: dict[int, str]
    starts: tuple[PageStart, ...]


@dataclass(slots=True)
class Layout:
    width: float
    height: float
    pages: list[Page]
    front_pages: int
    structure: Element
    typeface: Typeface
    chapter_labels: dict[int, str]
    starts: list[PageStart]
    rtl: bool = False

    @property
    def pagination(self) -> Pagination:
        return Pagination(len(self.pages), self.chapter_labels, tuple(self.starts))
