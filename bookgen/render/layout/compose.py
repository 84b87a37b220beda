"""Lays out the whole book: chapters first, because the contents need their page numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.headings import chapter_heading
from bookgen.render.layout.chapters import ChapterPages, chapter_pages
from bookgen.render.layout.contents import ContentsEntry
from bookgen.render.layout.front import FrontMatter, anchor
from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.lines import Align, LineBreaker
from bookgen.render.layout.page import Layout, Page, PageStart, Pagination, Placed
from bookgen.render.layout.rows import Element, Row, Rule, TextMark
from bookgen.render.layout.setter import Setter
from bookgen.render.layout.words import WordMaker
from bookgen.render.locales import language
from bookgen.render.model import Manuscript
from bookgen.render.settings import ExportSettings


def setter_for(manuscript: Manuscript, settings: ExportSettings, *, measuring: bool = False) -> Setter:
    """Create the tools to set one book's text: fonts, line breaking and page geometry.

    The fonts are opened anew for each file, since they collect the glyphs to embed in it. If `measuring` is true, a
    character that is missing from every font raises no error.
    """
    speech = language(manuscript.language)
    maker = WordMaker(Typeface(settings.font, manuscript.language, measuring=measuring), rtl=speech.rtl)
    hyphens = Hyphens(manuscript.language, enabled=settings.hyphenate)
    breaker = LineBreaker(hyphens, micro=settings.justify, measuring=measuring)
    page = geometry(settings, manuscript.trim, leading=speech.leading, ideographic=speech.ideographic)
    return Setter(page, settings, speech, maker, breaker)


class Composer:
    """Lays out one book.

    Set `measuring` if only `pagination()` is needed: characters that no font has then raise no error.
    """

    def __init__(self, manuscript: Manuscript, settings: ExportSettings, *, measuring: bool = False) -> None:
        self._manuscript = manuscript
        self._settings = settings
        self._setter = setter_for(manuscript, settings, measuring=measuring)
        self._typeface = self._setter.maker.typeface
        self._geometry = self._setter.geometry
        self._structure = Element("Document")
        self._digital = settings.profile == "digital"

    def layout(self) -> Layout:
        front_structure = self._structure.child("Sect")
        matter = FrontMatter(self._setter, self._manuscript, front_structure)
        picture = self._manuscript.cover if self._digital and self._settings.include_cover else None
        cover = [matter.cover(picture)] if picture else []
        chapters = self._chapters()
        front = self._front(matter, chapters)
        pagination = self._pagination(front, chapters)
        if self._digital:
            front = cover + [page for page in front if page.placed and page.kind != "half title"]
        self._label(front[len(cover) :])
        pages = list(front)
        for chapter in chapters:
            if not self._digital:
                pages += [Page("chapter", str(number)) for number in range(len(pages) - len(front) + 1, chapter.first)]
            pages += self._body(chapter)
        if not self._digital:
            pages += [Page("chapter")] * (pagination.pages - len(pages))
        self._to_sides(pages)
        trim = self._geometry.trim
        rtl = self._setter.language.rtl
        return Layout(trim.width, trim.height, pages, len(front), self._structure, self._typeface, pagination, rtl=rtl)

    def pagination(self) -> Pagination:
        chapters = self._chapters()
        front = self._front(FrontMatter(self._setter, self._manuscript, self._structure), chapters)
        return self._pagination(front, chapters)

    def _pagination(self, front: Sequence[Page], chapters: Sequence[ChapterPages]) -> Pagination:
        """The pagination of the laid-out chapters. The page count is rounded up to an even number for printers."""
        pages = len(front) + max((chapter.before + len(chapter.pages) for chapter in chapters), default=0)
        labels = {chapter.section.number: str(chapter.first) for chapter in chapters}
        poems = {poem: str(chapter.first + page) for chapter in chapters for poem, page in chapter.poems.items()}
        return Pagination(pages + pages % 2, labels, tuple(_starts(chapters)), poems)

    def _chapters(self) -> list[ChapterPages]:
        chapters: list[ChapterPages] = []
        printed = shown = 0
        for section in self._manuscript.chapters:
            if self._settings.chapter_starts == "right":
                printed += printed % 2
            self._typeface.place = f" in chapter {section.number}"
            chapter = chapter_pages(self._setter, section, self._structure, printed)
            chapter.first = (shown if self._digital else printed) + 1
            chapters.append(chapter)
            printed += len(chapter.pages)
            shown += len(chapter.pages)
        self._typeface.place = ""
        return chapters

    def _front(self, matter: FrontMatter, chapters: Sequence[ChapterPages]) -> list[Page]:
        """The front matter as printed. It has an even number of pages, so that page 1 is a right-hand page."""
        settings = self._settings
        pages: list[Page] = []
        if settings.include_title_page:
            pages += [matter.half_title(), Page("title"), matter.title()]
        if settings.include_copyright_page:
            pages += [Page("copyright")] * (len(pages) % 2 == 0)
            pages += matter.copyright()
        if settings.dedication:
            pages += [Page("title")] * (len(pages) % 2)
            pages += matter.dedication()
        if settings.include_toc and self._manuscript.has_contents:
            pages += [Page("toc")] * (len(pages) % 2)
            pages += matter.contents([entry for each in chapters for entry in self._entries(each)])
        if len(pages) % 2:
            pages.append(Page(pages[-1].kind))
        return pages

    def _entries(self, chapter: ChapterPages) -> list[ContentsEntry]:
        """The chapter's entry in the table of contents.

        If the chapter has the book's title, its poems are listed instead: one entry for each.
        """
        section, pages = chapter.section, chapter.poems

        def label(page: int) -> str:
            return str(chapter.first + page) if self._settings.page_numbers else ""

        poems = [
            ContentsEntry(poem.title, label(pages[poem.anchor]), poem.anchor, poem.title) for poem in section.poems
        ]
        if section.repeats_book_title:
            return poems
        above, title = chapter_heading(section, self._settings, self._setter.language)
        number = str(section.number) if above else ""
        description = section.title.strip() or label(0)
        return [ContentsEntry(title, label(0), anchor(section), description, number, tuple(poems))]

    def _label(self, front: Sequence[Page]) -> None:
        for index, page in enumerate(front):
            page.label = roman(index + 1)
            if page.kind == "toc" and page.placed and self._settings.page_numbers:
                self._folio(page)

    def _body(self, chapter: ChapterPages) -> list[Page]:
        pages: list[Page] = []
        for index, rows in enumerate(chapter.pages):
            number = chapter.first + index
            page = Page("chapter", str(number), chapter.section.id)
            if index == 0:
                page.anchors.append(anchor(chapter.section))
            elif self._settings.running_heads:
                self._running_head(page, chapter, recto=number % 2 == 1)
            page.anchors += [row.anchor for row in rows if row.anchor]
            self._fill(page, chapter, rows)
            if self._settings.page_numbers:
                self._folio(page)
            pages.append(page)
        return pages

    def _fill(self, page: Page, chapter: ChapterPages, rows: Sequence[Row]) -> None:
        unit = 0.0
        for row in rows:
            if row.marks and not row.off_grid:
                unit = math.ceil(unit)
            y = self._geometry.baseline(unit)
            page.placed += [Placed(mark, y) for mark in row.marks]
            unit += row.units
        self._notes(page, chapter, chapter.notes.at_foot(rows))

    def _notes(self, page: Page, chapter: ChapterPages, called: Sequence[int]) -> None:
        notes, geometry = chapter.notes, self._geometry
        lines = [(line, notes.elements[note]) for note in called for line in notes.lines[note]]
        if not lines:
            return
        y = geometry.foot + (len(lines) - 1) * notes.lead
        width = geometry.measure * 0.25
        start = geometry.measure - width if self._setter.language.rtl else 0.0
        page.placed.append(Placed(Rule(start, width), y + notes.lead * 1.15))
        for line, element in lines:
            page.placed.append(Placed(TextMark(line, 0.0, geometry.note_size, element), y))
            y -= notes.lead

    def _running_head(self, page: Page, chapter: ChapterPages, *, recto: bool) -> None:
        text = chapter.section.title.strip() if recto else self._manuscript.title
        if not text:
            return
        geometry = self._geometry
        line = self._setter.line(text, geometry.small, geometry.measure * 0.9, Align.START, italic=True)
        at_end = recto != self._setter.language.rtl
        x = geometry.measure - line.width if at_end else 0.0
        line.x = 0.0
        page.placed.append(Placed(TextMark(line, x, geometry.small), geometry.trim.height - geometry.head))

    def _folio(self, page: Page) -> None:
        geometry = self._geometry
        line = self._setter.line(page.label, geometry.small, geometry.measure, Align.CENTER)
        page.placed.append(Placed(TextMark(line, 0.0, geometry.small), geometry.folio))

    def _to_sides(self, pages: Sequence[Page]) -> None:
        """Move every page's text sideways, away from the spine. A screen has no spine, so the text is centred there."""
        geometry, rtl = self._geometry, self._setter.language.rtl
        for index, page in enumerate(pages):
            if page.kind == "cover":
                continue
            left = geometry.margins / 2
            if not self._digital:
                left = geometry.left(len(pages), recto=index % 2 == 0, rtl=rtl)
            for placed in page.placed:
                placed.x += left
            for link in page.links:
                link.x += left


def _starts(chapters: Sequence[ChapterPages]) -> list[PageStart]:
    return [
        PageStart(chapter.section.number, str(number), first.block, first.word)
        for chapter in chapters
        for number, rows in enumerate(chapter.pages, chapter.before + 1)
        if (first := next((row for row in rows if row.block >= 0), None))
    ]


_ROMAN = {100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}


def roman(number: int) -> str:
    out = ""
    for value, letters in _ROMAN.items():
        out += letters * (number // value)
        number %= value
    return out
