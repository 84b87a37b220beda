"""Lays out a picture book: on each spread (two facing pages), a picture fills the left page, text is on the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bookgen.models import AgeRange
from bookgen.render.cover.colour import Colour
from bookgen.render.layout.compose import setter_for
from bookgen.render.layout.front import FrontMatter, anchor, copyright_paragraphs
from bookgen.render.layout.lines import Align, Line
from bookgen.render.layout.page import Layout, Page, PageStart, Pagination, Placed
from bookgen.render.layout.rows import Element, Fill, Image, TextMark
from bookgen.render.layout.setter import DISPLAY_LEAD
from bookgen.render.model import Manuscript, Picture, Section, Spans, spans_of
from bookgen.render.pictures import covering
from bookgen.render.settings import ExportSettings
from bookgen.render.tints import PLAIN, medallion, tint
from bookgen.render.trim import BLEED, INCH

# The text size in points, and whether lines are centred, by the readers' age.
SIZES = {
    AgeRange.TODDLERS: (30.0, True),
    AgeRange.PRESCHOOLERS: (24.0, True),
    AgeRange.FIRST_READERS: (19.0, False),
    AgeRange.READERS: (15.0, False),
}
_SMALLEST = 9.0
_STEP = 0.9  # the factor by which a size that does not fit is reduced
_LEAD, _BETWEEN = 1.42, 0.62  # line height and space between paragraphs, as multiples of the size
_MARGIN = 0.95 * INCH
_FOLIO = 0.5 * INCH
_ABOVE_MIDDLE = 0.03  # of the page's height; text looks centred if it is a little above the middle
_MEDALLION = 3.7 * INCH
_TITLES = (46.0, 40.0, 34.0, 28.0, 23.0, 18.0, 14.0)


def for_spreads(settings: ExportSettings, ages: str) -> ExportSettings:
    """The settings adapted to a picture book: print in colour with bleed, no hyphenation, no justification, no TOC.

    `ages`: the book's `AgeRange`. It determines the type size, unless the settings have one.
    """
    size, _ = SIZES[AgeRange(ages)]
    printed = settings.profile == "print"
    return replace(
        settings,
        font_size=settings.font_size or size,
        justify=False,
        hyphenate=False,
        color=settings.color or printed,
        bleed=settings.bleed or printed,
        include_toc=False,
    )


# A paragraph as lines with its structure element. A column has paragraphs, each with the space above it.
_Set = tuple[list[Line], Element | None]
_Column = list[tuple[float, _Set]]


class SpreadComposer:
    """Lays out one picture book, as `Composer` does for other books. `settings` must come from `for_spreads`."""

    def __init__(self, manuscript: Manuscript, settings: ExportSettings, *, measuring: bool = False) -> None:
        self._manuscript = manuscript
        self._settings = settings
        self._measuring = measuring
        self._setter = setter_for(manuscript, settings, measuring=measuring)
        self._structure = Element("Document")
        self._digital = settings.profile == "digital"
        trim = self._setter.geometry.trim
        self._width, self._height = trim.width, trim.height
        self._bleed = BLEED if settings.bleed else 0.0
        self._measure = trim.width - 2 * _MARGIN
        self._centred = SIZES[AgeRange(manuscript.ages)][1]

    def layout(self) -> Layout:
        front = self._front()
        pages = [*front, *self._story(), *self._back(front)]
        for number, page in enumerate((page for page in front if page.kind != "cover"), 1):
            page.label = str(number)
        typeface, rtl, facing = self._setter.maker.typeface, self._setter.language.rtl, len(front) % 2 == 1
        wide, tall, pagination = self._width, self._height, self.pagination()
        return Layout(wide, tall, pages, len(front), self._structure, typeface, pagination, rtl=rtl, facing=facing)

    def pagination(self) -> Pagination:
        """The pagination as printed: a title page, the spreads, a credits page."""
        labels: dict[int, str] = {}
        starts: list[PageStart] = []
        number = 1
        for section in self._manuscript.chapters:
            labels[section.number] = str(number)
            starts.append(PageStart(section.number, str(number), 0, 0))
            number += self._pages_of(section)
        return Pagination(number + 1, labels, tuple(starts))

    def _pages_of(self, section: Section) -> int:
        texts = len(self._columns(section, None))
        return 1 + texts + (texts + 1) % 2

    # Pages

    def _front(self) -> list[Page]:
        """The front pages. In print their number is odd, so that the two pages of a spread face each other."""
        cover = self._manuscript.cover if self._digital and self._settings.include_cover else None
        pages: list[Page] = []
        if cover is not None:
            matter = FrontMatter(self._setter, self._manuscript, self._structure.child("Sect"))
            pages.append(matter.cover(cover))
            if self._settings.include_title_page:
                pages.append(self._credits())
        if self._settings.include_title_page:
            pages.append(self._title())
        elif not self._digital:
            pages.append(self._tinted(Page("title")))
        return pages

    def _back(self, front: Sequence[Page]) -> list[Page]:
        if any(page.kind == "copyright" for page in front):
            return []
        page = self._credits()
        has_text = any(isinstance(placed.mark, TextMark) for placed in page.placed)
        return [page] if has_text or not self._digital else []

    def _story(self) -> Iterator[Page]:
        number = 1
        for section in self._manuscript.chapters:
            element = self._structure.child("Sect")
            figure = next(iter(section.figures), None)
            ground = tint(figure.picture) if figure and not self._measuring else PLAIN
            first = Page("chapter", str(number), section.id, anchors=[anchor(section)])
            if figure:
                alt = element.child("Figure", alt=figure.alt)
                first.placed.append(self._filling(figure.picture, alt))
            else:
                self._tinted(first, ground)
            yield first
            columns, size = self._columns(section, element), self.size_of(section)
            for at in range(len(columns) + (len(columns) + 1) % 2):
                number += 1
                page = self._tinted(Page("chapter", str(number), section.id), ground)
                if at < len(columns):
                    self._put(page, columns[at], size)
                    self._folio(page)
                yield page
            number += 1

    def _title(self) -> Page:
        book, page = self._manuscript, Page("title")
        figure = next(iter(book.figures), None)
        ground = tint(figure.picture) if figure else PLAIN
        self._tinted(page, ground)
        middle = self._height * 0.5
        if figure:
            round_picture = medallion(figure.picture, _MEDALLION, ground)
            x = (self._width - _MEDALLION) / 2
            element = self._structure.child("Figure", alt=figure.alt)
            page.placed.append(Placed(Image(round_picture, x, 0.0, _MEDALLION, _MEDALLION, element), INCH * 1.55))
            middle = self._height * 0.8
        room = self._height * (0.3 if figure else 0.5)
        size, lines = self._setter.fitted(book.title, _TITLES, self._measure, room, display=True)
        height = len(lines) * size * DISPLAY_LEAD
        top = min(middle + height / 2, self._height - 0.7 * INCH)
        self._stack(page, lines, size, top, "Title")
        if book.subtitle:
            small = max(_SMALLEST, size * 0.45)
            self._stack(page, self._lines(book.subtitle, small), small, top - height - small * 0.4, "P")
        author = self._lines(book.author, 17.0)
        self._stack(page, author, 17.0, INCH * 0.85 + len(author) * 17.0 * DISPLAY_LEAD, "P")
        if book.notice:
            self._stack(page, self._lines(book.notice, _SMALLEST, italic=True), _SMALLEST, INCH * 0.7, "P")
        return page

    def _credits(self) -> Page:
        """The credits page: the dedication in the middle, the copyright notice at the foot."""
        settings, page = self._settings, self._tinted(Page("copyright"))
        if settings.dedication:
            lines = [line for part in settings.dedication.split("\n") for line in self._lines(part, 15.0, italic=True)]
            self._stack(page, lines, 15.0, self._height * 0.68, "P")
        paragraphs = copyright_paragraphs(self._manuscript, settings, self._setter.language)
        size = _SMALLEST
        lines = [line for paragraph in paragraphs for line in self._lines(paragraph, size)]
        self._stack(page, lines, size, INCH * 0.7 + len(lines) * size * DISPLAY_LEAD, "P")
        return page

    # Marks

    def _tinted(self, page: Page, ground: Colour = PLAIN) -> Page:
        bleed = self._bleed
        fill = Fill(-bleed, -bleed, self._width + 2 * bleed, self._height + 2 * bleed, ground)
        page.placed.insert(0, Placed(fill, 0.0))
        return page

    def _filling(self, picture: Picture, element: Element) -> Placed:
        """The picture over the whole page and its bleed. What extends beyond the page is cut off."""
        bleed = self._bleed
        width, height = self._width + 2 * bleed, self._height + 2 * bleed
        shown = picture if self._measuring else covering(picture, width, height, printed=not self._digital)
        return Placed(Image(shown, -bleed, -bleed, width, height, element), 0.0)

    def _columns(self, section: Section, element: Element | None) -> list[_Column]:
        """The section's text in as many columns as it needs, one for each page."""
        size = self.size_of(section)
        most = self._height - 2 * _MARGIN
        columns: list[_Column] = [[]]
        height = 0.0
        for lines, role in self._paragraphs(section, size, element):
            above = size * _BETWEEN if columns[-1] else 0.0
            while lines:
                fit = max(0, int((most - height - above) / (size * _LEAD)))
                if fit < len(lines) and (fit == 0 or columns[-1]):
                    columns.append([])
                    height, above = 0.0, 0.0
                    continue
                fit = max(1, fit)
                columns[-1].append((above, (lines[:fit], role)))
                height += above + len(lines[:fit]) * size * _LEAD
                lines = lines[fit:]
        return columns

    def size_of(self, section: Section) -> float:
        """The text size in points: that of the settings, or smaller if a long text would not fit on one page."""
        size = self._settings.font_size or _SMALLEST
        while size > _SMALLEST and self._height_of(section, size) > self._height - 2 * _MARGIN:
            size = max(_SMALLEST, size * _STEP)
        return size

    def _height_of(self, section: Section, size: float) -> float:
        found = self._paragraphs(section, size, None)
        return sum(len(lines) * size * _LEAD for lines, _ in found) + max(0, len(found) - 1) * size * _BETWEEN

    def _paragraphs(self, section: Section, size: float, element: Element | None) -> list[_Set]:
        align = Align.CENTER if self._centred else Align.START
        texts: list[Spans] = [spans for block in section.blocks for spans in spans_of(block)]
        texts += [spans for note in section.notes for block in note for spans in spans_of(block)]
        return [
            (self._setter.lines(spans, size, self._measure, align), element and element.child("P")) for spans in texts
        ]

    def _put(self, page: Page, column: _Column, size: float) -> None:
        height = sum(above + len(lines) * size * _LEAD for above, (lines, _) in column)
        y = (self._height + height) / 2 + self._height * _ABOVE_MIDDLE
        for above, (lines, role) in column:
            y -= above
            for line in lines:
                y -= size * _LEAD
                mark = TextMark(line, _MARGIN, size, role)
                page.placed.append(Placed(mark, y + size * (_LEAD - 1) * 0.5 + size * 0.2))

    def _folio(self, page: Page) -> None:
        if self._settings.page_numbers:
            line = self._setter.line(page.label, 10.0, self._measure, Align.CENTER)
            page.placed.append(Placed(TextMark(line, _MARGIN, 10.0), _FOLIO))

    def _lines(self, text: str, size: float, **kind: bool) -> list[Line]:
        return self._setter.lines(text, size, self._measure, Align.CENTER, **kind) if text.strip() else []

    def _stack(self, page: Page, lines: Sequence[Line], size: float, top: float, role: str) -> None:
        element = self._structure.child(role)
        for at, line in enumerate(lines, 1):
            mark = TextMark(line, _MARGIN, size, element)
            page.placed.append(Placed(mark, top - at * size * DISPLAY_LEAD + size * 0.25))
