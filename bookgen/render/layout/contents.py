"""The entries of the table of contents: chapters, and below each of them its poems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.render.layout.lines import Align, Line, Shape, Tail
from bookgen.render.layout.page import Link, Page, Placed
from bookgen.render.layout.rows import Element, TextMark
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Span

_FIRST_UNIT = 7  # the grid line of the first entry, below the heading
_BESIDE_NUMBER = 0.8  # ems between a title and its chapter number or page number
_POEM_INDENT = 1.5  # ems
_TURNED = 1.0  # ems; the inset of the later lines of a poem's title
_SMALLER = 0.85  # the scale for a title that would take more than a page
_LEAST = 7.0  # points; printers accept no smaller type


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """A chapter or a poem in the table of contents.

    `page` is its page number, `number` the number of the chapter; both may be empty. `description` is the text
    alternative of the link.
    """

    title: str
    page: str
    anchor: str
    description: str
    number: str = ""
    poems: tuple[ContentsEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class _Title:
    """An entry's title as lines. Lengths are in points.

    `before`: the space before the lines. `measure`: their width. `hang`: the inset of all but the first line.
    """

    entry: ContentsEntry
    size: float
    lines: Sequence[Line]
    before: float
    measure: float
    hang: float


class ContentsPages:
    """Sets the entries on pages, from left to right, or mirrored in a right-to-left book."""

    def __init__(self, setter: Setter, first: Page, entries: Sequence[ContentsEntry]) -> None:
        self._setter = setter
        self._geometry = setter.geometry
        self._entries = entries
        self._before = self._column([entry.number for entry in entries])
        every = [each for entry in entries for each in (entry, *entry.poems)]
        self._title = self._geometry.measure - self._before - self._column([entry.page for entry in every])
        is_short = len(entries) <= (self._geometry.lines - _FIRST_UNIT) // 2
        self._between = 1 if is_short or any(entry.poems for entry in entries) else 0
        self._unit = _FIRST_UNIT
        self._pages = [first]

    def pages(self, element: Element) -> list[Page]:
        for entry in self._entries:
            indent, hang = self._geometry.size * _POEM_INDENT, self._geometry.size * _TURNED
            titles = [self._set(entry, self._before, self._title)]
            titles += [self._set(poem, self._before + indent, self._title - indent, hang=hang) for poem in entry.poems]
            item = element.child("TOCI")
            inner = Element("TOC")
            for index, title in enumerate(titles):
                self._make_room(titles, index)
                self._put(title, inner.child("TOCI") if index else item)
            item.kids.append(inner)
            self._unit += self._between
        return self._pages

    def _make_room(self, titles: Sequence[_Title], first: int) -> None:
        """Begin a new page if the title with index `first` and the titles kept with it do not fit on the current page.

        A chapter is kept with its first poem, and the last poem but one with the last poem.
        """
        last = first
        while last < len(titles) - 1 and last in (0, len(titles) - 2):
            last += 1
        units = sum(len(title.lines) for title in titles[first : last + 1])
        if self._unit and self._unit + units > self._geometry.lines:
            self._pages.append(Page("toc"))
            self._unit = 0

    def _set(self, entry: ContentsEntry, before: float, measure: float, *, hang: float = 0.0) -> _Title:
        setter, size = self._setter, self._geometry.size
        words = setter.maker.words((Span(entry.title),))
        for smaller in (size, size * _SMALLER, _LEAST):
            lines = setter.breaker.lines(words, Shape(measure - hang, smaller, -hang, Align.START))
            if len(lines) <= self._geometry.lines:
                break
        return _Title(entry, smaller, lines, before, measure, hang)

    def _column(self, numbers: Sequence[str]) -> float:
        """The width of the column of numbers next to the titles."""
        widths = [line.width for number in numbers if (line := self._short(number))]
        return max(widths) + self._geometry.size * _BESIDE_NUMBER if widths else 0.0

    def _short(self, text: str) -> Line | None:
        return self._setter.line(text, self._geometry.size, self._geometry.measure, Align.START) if text else None

    def _put(self, title: _Title, element: Element) -> None:
        """Add an entry: number, title and page."""
        geometry, page, rtl = self._geometry, self._pages[-1], self._setter.language.rtl
        entry, lines = title.entry, title.lines
        unit, self._unit = self._unit, self._unit + len(lines)

        def put(line: Line, x: float, role: Element, below: int, size: float = geometry.size) -> None:
            page.placed.append(Placed(TextMark(line, x, size, role), geometry.baseline(unit + below)))

        number = self._short(entry.number)
        if number:
            number.tail = Tail.SPACE
            before = title.before - geometry.size * _BESIDE_NUMBER - number.width
            number.x = geometry.measure - before - number.width if rtl else before
            put(number, 0.0, element.child("Lbl"), 0)
        link = element.child("Reference").child("Link")
        for below, line in enumerate(lines):
            x = geometry.measure - title.before - title.measure if rtl else title.before + title.hang
            put(line, x, link, below, title.size)
        last = len(lines) - 1
        folio = self._short(entry.page)
        if folio:
            lines[-1].tail = Tail.SPACE
            folio.x = 0.0 if rtl else geometry.measure - folio.width
            put(folio, 0.0, link, last)
        bottom = geometry.baseline(unit + last) - geometry.size * 0.3
        height = geometry.baseline(unit) + geometry.size - bottom
        page.links.append(Link(0.0, bottom, geometry.measure, height, link, entry.anchor, entry.description))
