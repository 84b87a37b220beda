"""A finished layout: numbered pages with marks at their places."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.rows import Element, Mark


@dataclass(slots=True)
class Placed:
    """A mark whose row has its baseline at (x, y), in points from the page's lower left.

    `x` is that of the text's left edge, once it is known on which side of its spread the page stands.
    """

    mark: Mark
    y: float
    x: float = 0.0


@dataclass(slots=True)
class Link:
    """A rectangle that leads to a named place in the book, or to an address. `element` is the text that says so."""

    x: float
    y: float
    width: float
    height: float
    element: Element
    anchor: str = ""
    title: str = ""
    href: str = ""


@dataclass(slots=True)
class Page:
    """`label` is the folio, shown or not; `kind` is cover, half title, title, copyright, toc or chapter."""

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
    """The printed book's pages, which every format goes by: how many, where chapters begin and where pages do."""

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
    pagination: Pagination
    rtl: bool = False
    facing: bool = False  # every second page belongs to the one before it: a screen shows them side by side
