"""Front matter: half title, title, copyright, dedication, contents."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bookgen.render import sample_text
from bookgen.render.layout.contents import ContentsEntry, ContentsPages
from bookgen.render.layout.lines import Align, Line
from bookgen.render.layout.page import Page, Placed
from bookgen.render.layout.rows import Element, Image, TextMark
from bookgen.render.layout.setter import DISPLAY_LEAD, Setter
from bookgen.render.locales import Locale
from bookgen.render.model import Manuscript, Picture, Section
from bookgen.render.pictures import extended
from bookgen.render.settings import ExportSettings

COVER = "Cover"  # the label of a page that is not counted
_COPYRIGHT_SIGN = "©"
_SHRUNK = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4)  # scales tried, in this order, until a title fits
_LEAST = 7.0  # points; printers accept no smaller type

# A text of the title page: the text, its size relative to the body text, space above, structure role, style.
_Part = tuple[str, float, float, str, dict[str, bool]]


class FrontMatter:
    """Builds the front matter. x counts from the left edge of the text; the composer adds the margin of each page."""

    def __init__(self, setter: Setter, manuscript: Manuscript, structure: Element) -> None:
        self._setter = setter
        self._manuscript = manuscript
        self._structure = structure
        self._geometry = setter.geometry

    def cover(self, picture: Picture) -> Page:
        page = Page("cover", COVER)
        element = self._structure.child(
            "Figure", alt=self._setter.language.comma.join((self._manuscript.title, self._manuscript.author))
        )
        trim = self._geometry.trim
        picture = extended(picture, trim.width, trim.height)
        page.placed.append(Placed(Image(picture, 0.0, 0.0, trim.width, trim.height, element), 0.0))
        return page

    def half_title(self) -> Page:
        page = Page("half title")
        parts: list[_Part] = [(self._manuscript.title, 1.35, 0.0, "P", {})]
        self._stack(page, self._height * 0.30, [*parts, *self._notice()])
        return page

    def title(self) -> Page:
        page = Page("title")
        book, lead = self._manuscript, self._geometry.lead
        parts: list[_Part] = [(book.title, title_scale(book.title), 0.0, "Title", {"display": True})]
        if book.subtitle:
            parts.append((book.subtitle, 1.25, lead, "P", {"italic": True}))
        parts.append((book.author, 1.25, lead * 3, "P", {}))
        parts += self._notice()
        publisher: list[_Part] = [(self._setter.settings.publisher, 1.0, 0.0, "P", {})]
        foot = self._stack_height(publisher, 1.0)
        self._stack(page, self._height * 0.24, parts, foot)
        self._stack(page, self._height - foot, publisher)
        return page

    def _notice(self) -> list[_Part]:
        """The notice about sample text, as a list of one part for the title page. Empty if there is no notice."""
        notice = self._manuscript.notice
        return [(notice, 0.9, self._geometry.lead * 2, "P", {"italic": True})] if notice else []

    def copyright(self) -> list[Page]:
        """The copyright notice at the foot of a page, or of several if it is long."""
        geometry = self._geometry
        size, lead = geometry.note_size, geometry.note_lead
        lines: list[tuple[Line, Element]] = []
        for paragraph in copyright_paragraphs(self._manuscript, self._setter.settings, self._setter.language):
            element = self._structure.child("P")
            lines += [(line, element) for line in self._setter.lines(paragraph, size, geometry.measure, Align.START)]
        most = int(self._height / lead)
        pages: list[Page] = []
        for first in range(0, len(lines), most):
            page = Page("copyright")
            shown = lines[first : first + most]
            for above, (line, element) in zip(reversed(range(len(shown))), shown, strict=True):
                page.placed.append(Placed(TextMark(line, 0.0, size, element), geometry.foot + above * lead))
            pages.append(page)
        return pages

    def dedication(self) -> list[Page]:
        geometry = self._geometry
        unit = round(geometry.lines * 0.3)
        pages = [Page("title")]
        for paragraph in self._setter.settings.dedication.split("\n"):
            element = self._structure.child("P")
            lines = self._setter.lines(paragraph, geometry.size, geometry.measure, italic=True)
            unit += not lines  # an empty paragraph takes one line
            for line in lines:
                if unit >= geometry.lines:
                    pages.append(Page("title"))
                    unit = 0
                y = geometry.baseline(unit)
                pages[-1].placed.append(Placed(TextMark(line, 0.0, geometry.size, element), y))
                unit += 1
        return pages

    def contents(self, entries: Sequence[ContentsEntry]) -> list[Page]:
        """The pages of the table of contents, with its heading."""
        page = Page("toc")
        heading: list[_Part] = [(self._setter.language.contents, 1.6, 0.0, "H1", {"display": True})]
        self._stack(page, self._geometry.lead * 3, heading)
        return ContentsPages(self._setter, page, entries).pages(self._structure.child("TOC"))

    @property
    def _height(self) -> float:
        return self._geometry.lines * self._geometry.lead

    def _stack(self, page: Page, top: float, parts: Sequence[_Part], foot: float = 0.0) -> None:
        """Add centred texts to the page, one below another.

        They begin `top` points below the top of the text area and leave `foot` points free at the bottom. Texts that
        need more room begin higher; if that is not enough, they are set smaller.
        """
        geometry = self._geometry
        room = self._height - foot
        shrunk = next((each for each in _SHRUNK if self._stack_height(parts, each) <= room), _SHRUNK[-1])
        down = max(0.0, min(top, room - self._stack_height(parts, shrunk)))
        for text, scale, space, role, kind in parts:
            size, lines = self._set(text, scale * shrunk, kind)
            element = self._structure.child(role)
            down += space * shrunk
            for line in lines:
                y = geometry.baseline(0) + geometry.size * 0.75 - down - size * 0.75
                page.placed.append(Placed(TextMark(line, 0.0, size, element), y))
                down += size * DISPLAY_LEAD

    def _stack_height(self, parts: Sequence[_Part], shrunk: float) -> float:
        height = 0.0
        for text, scale, space, _, kind in parts:
            size, lines = self._set(text, scale * shrunk, kind)
            height += space * shrunk + len(lines) * size * DISPLAY_LEAD
        return height

    def _set(self, text: str, scale: float, kind: dict[str, bool]) -> tuple[float, list[Line]]:
        geometry = self._geometry
        sizes = [max(_LEAST, geometry.size * scale * smaller) for smaller in _SHRUNK]
        return self._setter.fitted(text, sizes, geometry.measure, math.inf, **kind)


def title_scale(title: str) -> float:
    """The size of a book's title on the title page, relative to the body text."""
    return 2.7 if len(title) <= 40 else 2.1 if len(title) <= 90 else 1.5


def anchor(section: Section) -> str:
    return f"chapter-{section.number}"


def copyright_paragraphs(manuscript: Manuscript, settings: ExportSettings, language: Locale) -> list[str]:
    """The paragraphs of the copyright page: copyright, publisher, ISBN and watermark, as far as the book has them.

    If the settings include no copyright page, only the watermark is returned. The notice about sample text is added in
    front if the settings include no title page to show it.
    """
    notice = [] if settings.include_title_page else [manuscript.notice]
    if not settings.include_copyright_page:
        return [line for line in (*notice, manuscript.watermark) if line]
    own = [line for line in settings.copyright_text.split("\n") if line.strip()]
    paragraphs = notice + (own or _rights(manuscript, language))
    if settings.publisher:
        paragraphs.append(settings.publisher)
    if settings.isbn:
        paragraphs.append(f"ISBN {settings.isbn}")
    if manuscript.watermark:
        paragraphs.append(manuscript.watermark)
    return [paragraph for paragraph in paragraphs if paragraph.strip()]


def _rights(manuscript: Manuscript, language: Locale) -> list[str]:
    """The standard copyright notice, without a claim to sample text.

    If all text is sample text, the notice claims no rights at all.
    """
    if manuscript.notice == sample_text.OF_BOOK:
        return [sample_text.NO_RIGHTS]
    word = f"{language.copyright} " * language.names_copyright
    claimed = [f"{word}{_COPYRIGHT_SIGN} {manuscript.year} {manuscript.author}", language.rights]
    return [*claimed, sample_text.NO_RIGHTS] if manuscript.notice else claimed
