"""Front matter: half title, title, copyright, dedication, contents."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.render.languages import Language
from bookgen.render.layout.lines import Align, Line, Tail
from bookgen.render.layout.page import Link, Page, Placed
from bookgen.render.layout.rows import Element, Image, Text
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Manuscript, Section
from bookgen.render.settings import ExportSettings

_COPYRIGHT_SIGN = "©"
_ENTRY = 0.84  # of the measure is for a chapter's title, the rest for its page


class FrontMatter:
    """Builds pages whose x is measured from the text's left edge; the composer moves them to their side."""

    def __init__(self, setter: Setter, manuscript: Manuscript, structure: Element) -> None:
        self._setter = setter
        self._manuscript = manuscript
        self._structure = structure
        self._geometry = setter.geometry

    def cover(self) -> Page:
        page = Page("cover")
        picture = self._manuscript.cover
        assert picture is not None
        element = self._structure.child("Figure", alt=f"{self._manuscript.title}, {self._manuscript.author}")
        trim = self._geometry.trim
        page.placed.append(Placed(Image(picture, 0.0, 0.0, trim.width, trim.height, element), 0.0, 0.0))
        return page

    def half_title(self) -> Page:
        page = Page("title")
        self._centered(page, self._manuscript.title, 1.35, 0.30, "P")
        return page

    def title(self) -> Page:
        page = Page("title")
        book = self._manuscript
        scale = 2.7 if len(book.title) <= 40 else 2.1 if len(book.title) <= 90 else 1.5
        unit = self._centered(page, book.title, scale, 0.24, "Title", display=True)
        if book.subtitle:
            unit = self._centered(page, book.subtitle, 1.25, 0.0, "P", italic=True, unit=unit + 1)
        self._centered(page, book.author, 1.25, 0.0, "P", unit=unit + 3)
        if publisher := self._setter.settings.publisher:
            self._centered(page, publisher, 1.0, 0.0, "P", unit=self._geometry.lines - 1)
        return page

    def copyright(self) -> Page:
        page = Page("copyright")
        lines: list[tuple[Line, bool]] = []
        for paragraph in self.copyright_paragraphs():
            set_lines = self._setter.lines(paragraph, self._geometry.note_size, self._geometry.measure, Align.START)
            lines += [(line, index == 0) for index, line in enumerate(set_lines)]
        start = self._geometry.lines - len(lines)
        element = self._structure
        for index, (line, first) in enumerate(lines):
            if first:
                element = self._structure.child("P")
            y = self._geometry.baseline(start + index)
            page.placed.append(Placed(Text(line, 0.0, self._geometry.note_size, element), 0.0, y))
        return page

    def copyright_paragraphs(self) -> list[str]:
        return copyright_paragraphs(self._manuscript, self._setter.settings, self._setter.language)

    def dedication(self) -> Page:
        page = Page("title")
        unit = round(self._geometry.lines * 0.3)
        for paragraph in self._setter.settings.dedication.split("\n"):
            unit = self._centered(page, paragraph, 1.0, 0.0, "P", italic=True, unit=unit)
        return page

    def contents(self, entries: Sequence[tuple[Section, str]]) -> list[Page]:
        """One line or more for each chapter; `entries` has the number of the page on which it begins."""
        geometry = self._geometry
        page = Page("toc")
        pages = [page]
        self._centered(page, self._setter.language.contents, 1.6, 0.0, "H1", unit=3, display=True)
        element = self._structure.child("TOC")
        unit = 7
        for section, label in entries:
            lines = self._setter.lines(_entry(section), geometry.size, geometry.measure * _ENTRY, Align.START)
            if unit + len(lines) > geometry.lines:
                page = Page("toc")
                pages.append(page)
                unit = 0
            self._entry(page, lines, label, unit, element.child("TOCI"), section)
            unit += len(lines)
            if len(entries) <= (geometry.lines - 7) // 2:
                unit += 1
        return pages

    def _entry(
        self, page: Page, lines: Sequence[Line], label: str, unit: int, element: Element, section: Section
    ) -> None:
        geometry = self._geometry
        rtl = self._setter.language.rtl
        indent = geometry.measure * (1 - _ENTRY) if rtl else 0.0
        for index, line in enumerate(lines):
            page.placed.append(Placed(Text(line, indent, geometry.size, element), 0.0, geometry.baseline(unit + index)))
        last = unit + len(lines) - 1
        if label:
            lines[-1].tail = Tail.SPACE
            number = self._setter.line(label, geometry.size, geometry.measure, Align.START)
            number.x = 0.0 if rtl else geometry.measure - number.width
            page.placed.append(Placed(Text(number, 0.0, geometry.size, element), 0.0, geometry.baseline(last)))
        bottom = geometry.baseline(last) - geometry.size * 0.3
        height = geometry.baseline(unit) + geometry.size - bottom
        page.links.append(Link(0.0, bottom, geometry.measure, height, anchor=anchor(section)))

    def _centered(
        self, page: Page, text: str, scale: float, share: float, role: str, *, unit: int | None = None, **kind: bool
    ) -> int:
        """Sets `text` from a share of the page's height or from a grid line; returns the line after it."""
        if not text.strip():
            return unit or 0
        geometry = self._geometry
        size = geometry.size * scale
        at = round(geometry.lines * share) if unit is None else unit
        step = max(1, -(-int(size * 1.15 * 100) // int(geometry.lead * 100)))
        element = self._structure.child(role)
        for line in self._setter.lines(text, size, geometry.measure, Align.CENTER, **kind):
            page.placed.append(Placed(Text(line, 0.0, size, element), 0.0, geometry.baseline(at)))
            at += step
        return at


def anchor(section: Section) -> str:
    return f"chapter-{section.number}"


def _entry(section: Section) -> str:
    return section.title.strip() or str(section.number)


def copyright_paragraphs(manuscript: Manuscript, settings: ExportSettings, language: Language) -> list[str]:
    own = [line for line in settings.copyright_text.split("\n") if line.strip()]
    paragraphs = own or [
        f"{language.copyright} {_COPYRIGHT_SIGN} {manuscript.year} {manuscript.author}",
        language.rights,
    ]
    if settings.publisher:
        paragraphs.append(settings.publisher)
    if settings.isbn:
        paragraphs.append(f"ISBN {settings.isbn}")
    if manuscript.watermark:
        paragraphs.append(manuscript.watermark)
    return [paragraph for paragraph in paragraphs if paragraph.strip()]
