"""The whole book laid out: chapters first, since the contents need their numbers, then everything in its place."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.languages import language
from bookgen.render.layout.chapters import ChapterPages, chapter_pages
from bookgen.render.layout.front import FrontMatter, anchor
from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.lines import Align, LineBreaker
from bookgen.render.layout.page import Layout, Link, Page, PageStart, Pagination, Placed
from bookgen.render.layout.rows import Element, Row, Rule, Text
from bookgen.render.layout.setter import Setter
from bookgen.render.layout.words import WordMaker
from bookgen.render.model import Manuscript
from bookgen.render.settings import ExportSettings


def lay_out(manuscript: Manuscript, settings: ExportSettings) -> Layout:
    return _Composer(manuscript, settings).layout()


def paginate(manuscript: Manuscript, settings: ExportSettings) -> Pagination:
    """Where the printed pages are, whether or not this machine has the fonts to print them."""
    return _Composer(manuscript, settings, measuring=True).pagination()


def setter_for(manuscript: Manuscript, settings: ExportSettings, *, measuring: bool = False) -> Setter:
    """What a book's text is set with; fonts are opened anew, since each file embeds only what it shows."""
    speech = language(manuscript.language)
    return Setter(
        geometry(settings, manuscript.trim),
        settings,
        speech,
        WordMaker(Typeface(settings.font, manuscript.language, measuring=measuring), rtl=speech.rtl),
        LineBreaker(
            Hyphens(manuscript.language, enabled=settings.hyphenate), micro=settings.justify, measuring=measuring
        ),
    )


class _Composer:
    def __init__(self, manuscript: Manuscript, settings: ExportSettings, *, measuring: bool = False) -> None:
        self._manuscript = manuscript
        self._settings = settings
        self._setter = setter_for(manuscript, settings, measuring=measuring)
        self._typeface = self._setter.maker.typeface
        self._geometry = self._setter.geometry
        self._structure = Element("Document")

    def layout(self) -> Layout:
        front_structure = self._structure.child("Sect")
        chapters = self._chapters()
        front = self._front(front_structure, chapters)
        body: list[Page] = []
        for chapter in chapters:
            body += [self._blank(number) for number in range(len(body) + 1, chapter.before + 1)]
            body += self._body(chapter)
        pages = front + body
        pages += [Page("chapter")] * (self._length(front, chapters) - len(pages))
        self._to_sides(pages, len(front))
        return Layout(
            self._geometry.trim.width,
            self._geometry.trim.height,
            pages,
            len(front),
            self._structure,
            self._typeface,
            _labels(chapters),
            _starts(chapters),
            rtl=self._setter.language.rtl,
        )

    def pagination(self) -> Pagination:
        chapters = self._chapters()
        front = self._front(self._structure, chapters)
        return Pagination(self._length(front, chapters), _labels(chapters), tuple(_starts(chapters)))

    def _chapters(self) -> list[ChapterPages]:
        chapters: list[ChapterPages] = []
        count = 0
        for section in self._manuscript.chapters:
            if self._settings.chapter_starts == "right":
                count += count % 2
            self._typeface.place = f" in chapter {section.number}"
            chapters.append(chapter_pages(self._setter, section, self._structure, count))
            count += len(chapters[-1].pages)
        self._typeface.place = ""
        return chapters

    def _length(self, front: Sequence[Page], chapters: Sequence[ChapterPages]) -> int:
        """Printers take an even number of pages."""
        length = len(front) + max((chapter.before + len(chapter.pages) for chapter in chapters), default=0)
        return length + length % 2 if self._settings.profile == "print" else length

    def _front(self, structure: Element, chapters: Sequence[ChapterPages]) -> list[Page]:
        """Always an even number of pages, so that page 1 is a right-hand one."""
        settings = self._settings
        matter = FrontMatter(self._setter, self._manuscript, structure)
        pages: list[Page] = []
        if settings.include_cover and self._manuscript.cover and settings.profile == "digital":
            pages += [matter.cover(self._manuscript.cover), Page("title")]
        if settings.include_title_page:
            pages += [matter.half_title(), Page("title"), matter.title()]
        if settings.include_copyright_page:
            if len(pages) % 2 == 0:
                pages.append(Page("copyright"))
            pages += matter.copyright()
        if settings.dedication:
            pages += [Page("title")] * (len(pages) % 2)
            pages += matter.dedication()
        if settings.include_toc:
            if len(pages) % 2:
                pages.append(Page("toc"))
            labels = _labels(chapters) if settings.page_numbers else {}
            pages += matter.contents([(each.section, labels.get(each.section.number, "")) for each in chapters])
        if len(pages) % 2:
            pages.append(Page(pages[-1].kind))
        for index, page in enumerate(pages):
            page.label = roman(index + 1)
            if page.kind == "toc" and page.placed and settings.page_numbers:
                self._folio(page)
        return pages

    def _body(self, chapter: ChapterPages) -> list[Page]:
        pages: list[Page] = []
        for index, rows in enumerate(chapter.pages):
            number = chapter.before + index + 1
            page = Page("chapter", str(number), chapter.section.id)
            if index == 0:
                page.anchors.append(anchor(chapter.section))
            elif self._settings.running_heads:
                self._running_head(page, chapter, recto=number % 2 == 1)
            self._fill(page, chapter, rows)
            if self._settings.page_numbers:
                self._folio(page)
            pages.append(page)
        return pages

    def _fill(self, page: Page, chapter: ChapterPages, rows: Sequence[Row]) -> None:
        unit = 0
        for row in rows:
            y = self._geometry.baseline(unit)
            page.placed += [Placed(mark, 0.0, y) for mark in row.marks]
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
        page.placed.append(Placed(Rule(start, width), 0.0, y + notes.lead * 1.15))
        for line, element in lines:
            page.placed.append(Placed(Text(line, 0.0, geometry.note_size, element), 0.0, y))
            y -= notes.lead

    def _running_head(self, page: Page, chapter: ChapterPages, *, recto: bool) -> None:
        text = chapter.section.title.strip() if recto else self._manuscript.title
        if not text:
            return
        geometry = self._geometry
        outer = Align.END if recto != self._setter.language.rtl else Align.START
        line = self._setter.line(text, geometry.small, geometry.measure * 0.9, Align.START, italic=True)
        x = geometry.measure - line.width if outer is Align.END else 0.0
        line.x = 0.0
        page.placed.append(Placed(Text(line, x, geometry.small), 0.0, geometry.trim.height - geometry.head))

    def _folio(self, page: Page) -> None:
        geometry = self._geometry
        line = self._setter.line(page.label, geometry.small, geometry.measure, Align.CENTER)
        page.placed.append(Placed(Text(line, 0.0, geometry.small), 0.0, geometry.folio))

    def _blank(self, number: int) -> Page:
        return Page("chapter", str(number))

    def _to_sides(self, pages: Sequence[Page], front: int) -> None:
        """Moves every page's text to its side of the spread, now that the number of pages is known."""
        rtl = self._setter.language.rtl
        for index, page in enumerate(pages):
            if page.kind == "cover":
                continue
            left = self._geometry.left(len(pages), recto=index % 2 == 0, rtl=rtl)
            for placed in page.placed:
                placed.x += left
            page.links = [
                Link(link.x + left, link.y, link.width, link.height, link.anchor, link.href) for link in page.links
            ]


def _labels(chapters: Sequence[ChapterPages]) -> dict[int, str]:
    """The number of the page on which each chapter begins."""
    return {chapter.section.number: str(chapter.before + 1) for chapter in chapters}


def _starts(chapters: Sequence[ChapterPages]) -> list[PageStart]:
    return [
        PageStart(chapter.section.number, str(number), first.block, first.word)
        for chapter in chapters
        for number, rows in enumerate(chapter.pages, chapter.before + 1)
        if (first := next((row for row in rows if row.block >= 0), None))
    ]


def roman(number: int) -> str:
    out = ""
    for value, letters in (
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ):
        out += letters * (number // value)
        number %= value
    return out
