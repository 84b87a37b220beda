"""A finished layout: numbered pages with positioned marks."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.rows import Element, Mark


@dataclass(slots=True)
class Placed:
    """A mark (text, rule, image or fill) and its place on the page, in points from the page's lower left corner.

    `x` is the left edge of the text area, and `y` the baseline of the mark's row. `x` is only final when it is known
    whether the page is a left or a right one.
    """

    mark: Mark
    y: float
    x: float = 0.0


@dataclass(slots=True)
class Link:
    """A clickable rectangle that leads to an anchor in the book or to a URL. `element` has the link's text."""

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
    """A page. `label` is its page number, even if the page does not show it; for the cover, its name.

    `kind`: cover, half title, title, copyright, toc or chapter.
    """

    kind: str
    label: str = ""
    chapter: int | None = None
    placed: list[Placed] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PageStart:
    """The first text on a page: its chapter, block and word."""

    chapter: int
    label: str
    block: int
    word: int


@dataclass(frozen=True, slots=True)
class Pagination:
    """The printed book's page count and page starts, and the page numbers that the contents show. All formats use it.

    `chapter_labels`: page numbers by the chapter's number. `poem_labels`: page numbers by the poem's anchor. In the
    `digital` profile these page numbers do not count the blank pages of the printed book.
    """

    pages: int
    chapter_labels: dict[int, str]
    starts: tuple[PageStart, ...]
    poem_labels: dict[str, str] = field(default_factory=dict)


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
    facing: bool = False  # screens show pages in pairs, side by side
