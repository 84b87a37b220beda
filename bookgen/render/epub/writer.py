"""Writes a manuscript as an EPUB 3.3: package, pages, navigation, accessibility metadata."""

from __future__ import annotations

import io
import uuid
from html import escape
from typing import Any

from ebooklib import epub

from bookgen.render import sample_text
from bookgen.render.archive import member, rezip
from bookgen.render.epub.style import font_files, style_sheet
from bookgen.render.epub.xhtml import ChapterWriter, page
from bookgen.render.headings import chapter_heading
from bookgen.render.layout.front import copyright_paragraphs
from bookgen.render.layout.page import Pagination
from bookgen.render.locales import language
from bookgen.render.marks.xmp import NAMESPACE, PREFIX, PROPERTY
from bookgen.render.model import Manuscript, Picture, Section
from bookgen.render.plays import roles
from bookgen.render.settings import ExportSettings

_PACKAGE = "EPUB/content.opf"


class _Page(epub.EpubHtml):  # type: ignore[misc]
    """A page whose bytes are written unchanged. EbookLib's own class would rewrite them with an HTML parser."""

    def get_content(self, default: Any = None) -> Any:
        return self.content

    def get_body_content(self) -> bytes:
        return b""


def write_epub(manuscript: Manuscript, pagination: Pagination, settings: ExportSettings) -> bytes:
    return EpubWriter(manuscript, pagination, settings).file()


_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class EpubWriter:
    """Writes one book's file. `summary` and `features` are the accessibility metadata of the file."""

    summary = (
        "Reflowable text with headings, landmarks, a table of contents, page numbers of the printed book "
        "and text alternatives for every image."
    )
    features: tuple[str, ...] = (
        "structuralNavigation",
        "tableOfContents",
        "readingOrder",
        "displayTransformability",
        "alternativeText",
        "pageBreakMarkers",
        "pageNavigation",
    )

    def __init__(self, manuscript: Manuscript, pagination: Pagination, settings: ExportSettings) -> None:
        self._manuscript = manuscript
        self._pagination = pagination
        self._settings = settings
        self._language = language(manuscript.language)
        self._book: Any = epub.EpubBook()
        self._spine: list[Any] = []
        self._landmarks: list[tuple[str, str, str]] = []
        self._page_list: list[tuple[str, str]] = []
        self._names: dict[Picture, str] = {}

    def file(self) -> bytes:
        book = self._book
        self._metadata()
        book.add_item(epub.EpubItem("css", "style.css", "text/css", self._sheet()))
        for number, (name, path) in enumerate(font_files(self._settings).items(), 1):
            book.add_item(epub.EpubItem(f"font{number}", name, "font/ttf", path.read_bytes()))
        self._add_pictures()
        if self._settings.include_cover and self._manuscript.cover:
            self._cover(self._manuscript.cover)
        self._front()
        contents = self._add("nav", self._language.contents, b"", linear=self._shows_contents)
        contents.properties = ["nav"]
        chapters = [self._chapter(section) for section in self._manuscript.chapters]
        self._back()
        contents.content = self._navigation(chapters)
        book.toc = [
            (chapter, [epub.Link(f"{chapter.file_name}#{poem.anchor}", poem.title, poem.anchor) for poem in poems])
            if (poems := section.poems)
            else chapter
            for chapter, section in zip(chapters, self._manuscript.chapters, strict=True)
        ]
        book.add_item(epub.EpubNcx())
        book.spine = self._spine
        if self._language.rtl:
            book.direction = "rtl"
        book.prefixes = ["a11y: http://www.idpf.org/epub/vocab/package/a11y/#", "schema: http://schema.org/"]
        if source := self._manuscript.source:
            book.prefixes.append(f"{PREFIX}: {NAMESPACE}")
            book.add_metadata(None, "meta", source.uri, {"property": f"{PREFIX}:{PROPERTY}"})
        buffer = io.BytesIO()
        # not ebooklib's write_epub(), which swallows file system errors
        changed = self._manuscript.changed
        options = {"mtime": changed, "epub3_pages": False, "raise_exceptions": True, "compresslevel": 0}
        writer = epub.EpubWriter(buffer, book, options)
        writer.process()
        writer.write()
        data = buffer.getvalue()
        return rezip(data, {_PACKAGE: self._finished(member(data, _PACKAGE))})

    @property
    def _shows_contents(self) -> bool:
        """Whether the table of contents is also a page of the book. Reading systems always show it in their menu."""
        return self._settings.include_toc and self._manuscript.has_contents

    def _sheet(self) -> bytes:
        verse = any(section.verse for section in self._manuscript.chapters)
        plays = any(roles(section.blocks) for section in self._manuscript.chapters)
        return style_sheet(self._settings, self._language, verse=verse, plays=plays)

    def _back(self) -> None:
        """Add pages after the chapters. This class adds none; a subclass may override it."""

    def _image(self, picture: Picture) -> Picture:
        """The picture to put into the file. Subclasses may reduce it."""
        return picture

    def _finished(self, package: bytes) -> bytes:
        """The package document with an `xml:lang` attribute, which its metadata needs."""
        mark = b'unique-identifier="id"'
        return package.replace(mark, mark + f' xml:lang="{escape(self._manuscript.language)}"'.encode(), 1)

    def _metadata(self) -> None:
        book, manuscript, settings = self._book, self._manuscript, self._settings
        book.metadata.clear()  # EbookLib's generator line and its random identifier
        name = f"bookgen:{manuscript.id}:{manuscript.title}:{manuscript.author}"
        book.set_identifier(f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}")
        book.set_title(manuscript.title)
        book.set_language(manuscript.language)
        book.add_metadata("DC", "creator", manuscript.author, {"id": "creator"})
        book.add_metadata(None, "meta", "aut", {"refines": "#creator", "property": "role", "scheme": "marc:relators"})
        book.add_metadata("DC", "publisher", settings.publisher or manuscript.author)
        book.add_metadata("DC", "date", str(manuscript.year))
        if manuscript.blurb:
            book.add_metadata("DC", "description", manuscript.blurb)
        if manuscript.subject:
            book.add_metadata("DC", "subject", manuscript.subject)
        is_sample = manuscript.notice == sample_text.OF_BOOK
        rights = sample_text.NO_RIGHTS if is_sample else f"© {manuscript.year} {manuscript.author}"
        book.add_metadata("DC", "rights", rights)
        source = (
            f"urn:isbn:{settings.isbn.replace('-', '').replace(' ', '')}"
            if settings.isbn
            else f"urn:bookgen:print:{manuscript.id}"
        )
        book.add_metadata("DC", "source", source, {"id": "print"})
        book.add_metadata(None, "meta", "pagination", {"refines": "#print", "property": "source-of"})
        for key, value in self._accessibility():
            language = {_LANGUAGE: "en"} if key == "schema:accessibilitySummary" else {}  # in books of any language
            book.add_metadata(None, "meta", value, {"property": key, **language})

    def _accessibility(self) -> list[tuple[str, str]]:
        visual = self._manuscript.figures or (self._manuscript.cover and self._settings.include_cover)
        rows = [("schema:accessMode", "textual"), *([("schema:accessMode", "visual")] if visual else [])]
        rows.append(("schema:accessModeSufficient", "textual"))
        rows += [("schema:accessibilityFeature", feature) for feature in self.features]
        rows += [("schema:accessibilityHazard", "none"), ("schema:accessibilitySummary", self.summary)]
        rows += [("dcterms:conformsTo", "EPUB Accessibility 1.1 - WCAG 2.1 Level AA"), ("a11y:certifiedBy", "bookgen")]
        return rows

    def _add_pictures(self) -> None:
        for number, picture in enumerate(dict.fromkeys(figure.picture for figure in self._manuscript.figures), 1):
            name = self._names[picture] = f"image{number}.jpg"
            self._book.add_item(epub.EpubItem(f"image{number}", name, "image/jpeg", self._image(picture).data))

    def _cover(self, picture: Picture) -> None:
        cover = epub.EpubCover(uid="cover-image", file_name="cover.jpg")
        cover.content, cover.media_type = picture.data, "image/jpeg"
        self._book.add_item(cover)
        self._book.add_metadata(None, "meta", "", {"name": "cover", "content": "cover-image"})
        alt = escape(self._language.comma.join((self._manuscript.title, self._manuscript.author)))
        self._add_page("cover", self._manuscript.title, self._cover_body(alt), "cover")
        self._landmarks.append(("cover", "cover.xhtml", self._manuscript.title))

    def _cover_body(self, alt: str) -> str:
        return f'<section epub:type="cover" class="cover"><img src="cover.jpg" alt="{alt}"/></section>'

    def _front(self) -> None:
        book, settings = self._manuscript, self._settings
        if settings.include_title_page:
            subtitle = f'<p class="subtitle">{escape(book.subtitle)}</p>' * bool(book.subtitle)
            names = "".join(f"<p>{escape(name)}</p>" for name in (book.author, settings.publisher) if name)
            notice = f'<p class="notice">{escape(book.notice)}</p>' * bool(book.notice)
            inner = f"<h1>{escape(book.title)}</h1>{subtitle}{names}{notice}"
            body = f'<section epub:type="titlepage" class="title-page">{inner}</section>'
            self._add_page("title", book.title, body, "frontmatter")
            self._landmarks.append(("titlepage", "title.xhtml", book.title))
        if lines := copyright_paragraphs(book, settings, self._language):
            inner = "".join(f"<p>{escape(line)}</p>" for line in lines)
            body = f'<section epub:type="copyright-page" class="copyright">{inner}</section>'
            is_english = self._language.code == "en"
            title = "©" if self._language.copyright == "Copyright" and not is_english else self._language.copyright
            self._add_page("copyright", title, body, "frontmatter")
        if settings.dedication:
            inner = "".join(f"<p>{escape(line)}</p>" for line in settings.dedication.split("\n"))
            body = f'<section epub:type="dedication" role="doc-dedication" class="dedication">{inner}</section>'
            self._add_page("dedication", book.title, body, "frontmatter")

    def _chapter(self, section: Section) -> Any:
        writer = ChapterWriter(section, self._pagination.starts, self._names, self._language)
        text = writer.body()
        label, title = chapter_heading(section, self._settings, self._language)
        number = f'<span class="number">{escape(label)}</span> ' if label else ""
        identifier = f"h{section.number}"
        mark = f'<p class="watermark">{escape(self._manuscript.watermark)}</p>' if self._manuscript.watermark else ""
        named = f'class="opening" aria-labelledby="{identifier}"'
        heading = f'<h1 id="{identifier}">{number}{escape(title)}</h1>\n'
        if not title:
            named, heading = f'class="opening untitled" aria-label="{escape(section.name)}"', ""
        body = f'<section epub:type="chapter" role="doc-chapter" {named}>\n{heading}{text}{mark}</section>'
        name = f"chapter{section.number:03d}"
        self._page_list += [(f"{name}.xhtml#p{label}", label) for label in writer.pages]
        return self._add_page(name, title or section.name, body, "bodymatter")

    def _navigation(self, chapters: list[Any]) -> bytes:
        heading = escape(self._language.contents)
        sections = self._manuscript.chapters
        toc = "".join(
            f'<li><a href="{chapter.file_name}">{escape(chapter.title)}</a>{_inner(chapter.file_name, section)}</li>\n'
            for chapter, section in zip(chapters, sections, strict=True)
        )
        landmarks = [*self._landmarks, ("bodymatter", chapters[0].file_name, chapters[0].title)]
        if self._shows_contents:  # a page outside the reading order must not be linked to
            landmarks.insert(-1, ("toc", "nav.xhtml", self._language.contents))
        marks = "".join(
            f'<li><a epub:type="{kind}" href="{file}">{escape(title)}</a></li>\n' for kind, file, title in landmarks
        )
        body = (
            '<nav epub:type="toc" role="doc-toc" id="toc" aria-labelledby="toc-title">'
            f'<h1 id="toc-title">{heading}</h1><ol>\n{toc}</ol></nav>\n'
            f'<nav epub:type="landmarks" hidden="hidden"><ol>\n{marks}</ol></nav>\n'
        )
        if self._page_list:
            pages = "".join(f'<li><a href="{place}">{label}</a></li>\n' for place, label in self._page_list)
            body += f'<nav epub:type="page-list" role="doc-pagelist" hidden="hidden"><ol>\n{pages}</ol></nav>\n'
        return self._page(self._language.contents, body, "frontmatter")

    def _page(self, title: str, body: str, kind: str) -> bytes:
        return page(title, body, kind, self._manuscript.language, rtl=self._language.rtl)

    def _add_page(self, name: str, title: str, body: str, kind: str) -> Any:
        return self._add(name, title, self._page(title, body, kind))

    def _add(self, name: str, title: str, content: bytes, *, linear: bool = True) -> Any:
        item = _Page(uid=name, file_name=f"{name}.xhtml", title=title, lang=self._manuscript.language)
        item.content = content
        self._book.add_item(item)
        if linear:
            self._spine.append(item)
        return item


def _inner(file: str, section: Section) -> str:
    """The entries of a chapter's poems, as a list within the chapter's entry in the contents. Empty without poems."""
    poems = "".join(f'<li><a href="{file}#{each.anchor}">{escape(each.title)}</a></li>\n' for each in section.poems)
    return f"<ol>\n{poems}</ol>" if poems else ""
