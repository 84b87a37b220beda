"""Builds an export job: loads everything that a worker needs to make a book's file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from bookgen.files.keeping import Files
from bookgen.models import Book, Chapter, Cover, SourceType
from bookgen.render.cover.job import Copy, CoverDesign, Subject
from bookgen.render.job import Job
from bookgen.render.model import Picture, PlacedPicture
from bookgen.render.settings import ExportSettings
from bookgen.services.declaration import source_of, words_of
from bookgen.services.provenance import Share
from bookgen.store import accounts, covers, illustrations, provenance
from bookgen.store.database import DB


async def render_job(
    db: DB,
    files: Files,
    kind: str,
    book: Book,
    written: Sequence[Chapter],
    settings: ExportSettings,
    watermark: bool,
    *,
    marks: bool,
) -> Job:
    """The job that makes a file of this `kind`. `written`: the book's chapters that have text.

    `marks`: whether the file's metadata says if a model or a person made the words and pictures.
    """
    author = book.author_name or await accounts.author_name(db, book.account_id)
    selected = await covers.selected(db, book.id)
    cover = await _picture(db, files, selected) if settings.include_cover or settings.cover_wrap else None
    design = _design(selected) if settings.cover_wrap else None
    pictures = await _pictures(db, files, book.id) if settings.include_illustrations else []
    source = await _source(db, book, written, settings) if marks else None
    return Job(kind, book, written, author, settings, watermark, cover, design, pictures, source)


async def _source(db: DB, book: Book, written: Sequence[Chapter], settings: ExportSettings) -> SourceType | None:
    """The origin of the file's words and pictures, for its metadata.

    None if neither a model nor sample text contributed to the file.
    """
    words = await words_of(db, book.account_id, book.id, written)
    has_cover = settings.include_cover or settings.cover_wrap
    shown = [
        each.source
        for each in await provenance.pictures(db, book.account_id, book.id)
        if (has_cover if each.is_cover else settings.include_illustrations)
    ]
    return source_of(reduce(add, words.values(), Share()), shown)


async def _picture(db: DB, files: Files, cover: Cover | None) -> Picture | None:
    body = cover and await files.picture(db, cover.image_key)
    return Picture(body, cover.width, cover.height) if cover and body else None


async def _pictures(db: DB, files: Files, book_id: int) -> list[PlacedPicture]:
    """The book's illustrations. Illustrations that are deleted while they are being loaded are left out."""
    found = []
    for each in await illustrations.of_book(db, book_id):
        if body := await files.picture(db, each.image_key):
            picture = Picture(body, each.width, each.height)
            found.append(PlacedPicture(each.chapter_id, each.position, picture, each.alt_text, each.caption))
    return found


def _design(cover: Cover | None) -> CoverDesign | None:
    """The design of a cover that bookgen drew; None if an image model painted the cover, or if there is no cover."""
    told = cover and cover.design
    if not told:
        return None
    subject: dict[str, Any] = told.get("subject", {})
    lists = {name: tuple(value) for name, value in subject.items() if isinstance(value, list)}
    return CoverDesign(**told | {"copy": Copy(**told["copy"]), "subject": Subject(**subject | lists)})
