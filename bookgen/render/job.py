"""One export from its text to its bytes: what a worker process does."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version

import orjson

from bookgen.models import Book, Chapter
from bookgen.render.docx.writer import write_docx
from bookgen.render.epub.writer import write_epub
from bookgen.render.fonts.families import BY_SETTING, FALLBACKS
from bookgen.render.languages import language
from bookgen.render.layout.compose import lay_out, paginate
from bookgen.render.layout.page import Pagination
from bookgen.render.manuscript import manuscript
from bookgen.render.model import Illustration, Manuscript, Picture
from bookgen.render.pdf.wrap import write_wrap
from bookgen.render.pdf.writer import write_pdf
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings

# Raise it when the same manuscript comes out differently.
RENDERER = "5"

FORMATS = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "epub": "application/epub+zip",
}


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that decides an export's bytes. `kind` is a format, "preview" or "pages"."""

    kind: str
    book: Book
    chapters: Sequence[Chapter]
    author: str
    settings: ExportSettings
    watermark: bool
    cover: Picture | None = None
    illustrations: Sequence[Illustration] = ()

    @property
    def digest(self) -> str:
        """The same for the same bytes; another as soon as anything that is printed differs."""
        book = self.book
        seen = hashlib.sha256()
        for value in (
            RENDERER,
            *_RELEASES,
            self.kind,
            *astuple(self.settings),
            self.watermark,
            self.author,
            *(book.id, book.title, book.subtitle, book.genre, book.description),
            *(book.trim_size, book.content_language, book.created_at.year),
            *((chapter.id, chapter.chapter_number, chapter.title, chapter.content) for chapter in self.chapters),
        ):
            seen.update(repr(value).encode("utf-8", "surrogatepass"))
            seen.update(b"\x00")
        for each in self.illustrations:
            seen.update(repr((each.chapter_id, each.position, each.alt, each.caption)).encode())
        for picture in (self.cover, *(each.picture for each in self.illustrations)):
            seen.update(hashlib.sha256(picture.data if picture else b"").digest())
        return seen.hexdigest()


_RELEASES = tuple(
    sorted({source.release for source in (*BY_SETTING.values(), *FALLBACKS)} | {f"reportlab {version('reportlab')}"})
)


def perform(job: Job) -> bytes:
    """The file; for "pages" the pages as HTML, in JSON."""
    text = manuscript(
        job.book,
        job.chapters,
        author=job.author,
        watermark=job.watermark,
        cover=job.cover,
        illustrations=job.illustrations if job.settings.include_illustrations else (),
    )
    match job.kind:
        case "docx":
            return write_docx(text, _pagination(job, text), job.settings)
        case "epub":
            return write_epub(text, _pagination(job, text), job.settings)
    layout = lay_out(text, job.settings)
    _paginations[_layout_key(job)] = layout.pagination
    match job.kind:
        case "pages":
            pages = html_pages(layout, rtl=language(text.language).rtl)
            return orjson.dumps({"page_count": len(pages), "pages": pages})
        case "preview":
            return write_pdf(text, layout, job.settings, preview=True)
        case "pdf" if job.settings.cover_wrap:
            return write_wrap(text, layout, job.settings)
        case _:
            return write_pdf(text, layout, job.settings)


_PAGINATIONS = 64
_paginations: dict[str, Pagination] = {}


def _pagination(job: Job, text: Manuscript) -> Pagination:
    """Where the printed pages are; a book that this process has laid out is not laid out again for it."""
    key = _layout_key(job)
    known = _paginations.get(key)
    if known is None:
        known = _paginations[key] = paginate(text, job.settings)
    return known


def _layout_key(job: Job) -> str:
    """The same for every format of one book; makes room for itself."""
    while len(_paginations) >= _PAGINATIONS:
        del _paginations[next(iter(_paginations))]
    return replace(job, kind="").digest
