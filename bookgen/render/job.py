"""An export job: everything that determines the file's bytes. It is sent to a worker."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from bookgen.models import Book, Chapter, SourceType
from bookgen.render.cover.job import CoverDesign
from bookgen.render.fonts.families import BY_SETTING, FALLBACKS
from bookgen.render.model import Picture, PlacedPicture
from bookgen.render.settings import ExportSettings

# Increase this when the same manuscript would give a different file.
RENDERER = "20"


@dataclass(frozen=True, slots=True)
class Job:
    """An export job. `source`: how the content was made, as the file's metadata declares it.

    `kind` is a format, "preview" (a PDF of the first pages), "pages" (all pages as HTML) or "scans" (some pages as
    images). `first`: the number of the first page for "scans".
    """

    kind: str
    book: Book
    chapters: Sequence[Chapter]
    author: str
    settings: ExportSettings
    watermark: bool
    cover: Picture | None = None
    cover_design: CoverDesign | None = None
    illustrations: Sequence[PlacedPicture] = ()
    source: SourceType | None = None
    first: int = 0

    @property
    def digest(self) -> str:
        """A hash of everything that affects the file: equal digests mean equal files."""
        book = self.book
        seen = hashlib.sha256()
        for value in (
            RENDERER,
            *_RELEASES,
            self.kind,
            *astuple(self.settings),
            self.watermark,
            self.author,
            self.cover_design,
            self.source,
            *(book.id, book.title, book.subtitle, book.genre, book.blurb),
            book.age_range,
            *(book.trim_size, book.content_language, book.created_at.year, last_change(book, self.chapters)),
            *([self.first] if self.first else []),
            *((each.id, each.chapter_number, each.title, each.content, each.is_sample) for each in self.chapters),
        ):
            seen.update(repr(value).encode("utf-8", "surrogatepass"))
            seen.update(b"\x00")
        for each in self.illustrations:
            seen.update(repr((each.chapter_id, each.position, each.alt, each.caption)).encode())
        for picture in (self.cover, *(each.picture for each in self.illustrations)):
            seen.update(hashlib.sha256(picture.data if picture else b"").digest())
        return seen.hexdigest()


def last_change(book: Book, chapters: Sequence[Chapter]) -> datetime:
    """The time of the book's last change, for its files: in UTC and whole seconds, which every format supports."""
    last = max([book.updated_at, *(chapter.updated_at for chapter in chapters)])
    return last.astimezone(UTC).replace(microsecond=0)


_RELEASES = tuple(
    sorted({source.release for source in (*BY_SETTING.values(), *FALLBACKS)} | {f"reportlab {version('reportlab')}"})
)
