"""One export from its text to its bytes: what a worker process does."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version

import orjson

from bookgen.models import Book, Chapter
from bookgen.render.cover.job import CoverJob, FinishedCover, FinishedPicture, PictureJob, make_cover, make_picture
from bookgen.render.edition import Edition
from bookgen.render.fonts.families import BY_SETTING, FALLBACKS
from bookgen.render.formats import FORMATS
from bookgen.render.languages import language
from bookgen.render.manuscript import last_change, manuscript
from bookgen.render.model import Picture, PlacedPicture
from bookgen.render.pdf.writer import write_pdf
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings

# Raise it when the same manuscript comes out differently.
RENDERER = "6"


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
    illustrations: Sequence[PlacedPicture] = ()

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
            *(book.trim_size, book.content_language, book.created_at.year, last_change(book, self.chapters)),
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


def perform(job: Job | CoverJob | PictureJob) -> bytes | FinishedCover | FinishedPicture:
    """What a worker is asked for."""
    match job:
        case CoverJob():
            return make_cover(job)
        case PictureJob():
            return make_picture(job)
        case _:
            return export(job)


def export(job: Job) -> bytes:
    """The file; for "pages" the pages as HTML, in JSON."""
    text = manuscript(
        job.book,
        job.chapters,
        author=job.author,
        watermark=job.watermark,
        cover=job.cover,
        illustrations=job.illustrations if job.settings.include_illustrations else (),
    )
    edition = Edition(text, job.settings, replace(job, kind="").digest)
    match job.kind:
        case "pages":
            pages = html_pages(edition.layout, rtl=language(text.language).rtl)
            return orjson.dumps({"page_count": len(pages), "pages": pages})
        case "preview":
            return write_pdf(text, edition.layout, job.settings, preview=True)
        case _:
            return FORMATS[job.kind].write(edition)
