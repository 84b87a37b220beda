"""Publishing: plan gate, load once, render off the loop, keep what was made."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

from bookgen.billing.plans import require_format
from bookgen.billing.quota import Quota
from bookgen.errors import Conflict, RenderTimeout, must_exist
from bookgen.models import Book, Chapter, Cover, Plan, SourceType
from bookgen.render.characters import one_line
from bookgen.render.cover.job import Copy, CoverDesign
from bookgen.render.formats import FORMATS
from bookgen.render.job import Job
from bookgen.render.model import Picture, PlacedPicture
from bookgen.render.pool import RenderPool
from bookgen.render.settings import ExportSettings, parse_settings
from bookgen.services.declaration import source_of, words_of
from bookgen.services.provenance import Share
from bookgen.store import accounts, books, chapters, covers, exports, illustrations, media, origins
from bookgen.store.database import Database

PREVIEW, PAGES = "preview", "pages"
MAX_HOPELESS = 10_000


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """`missing_chapters`: the numbers of those that have no text, and so are not in the file."""

    body: bytes
    content_type: str
    filename: str
    etag: str
    missing_chapters: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class BookPages:
    """`json`: an object of `page_count` and `pages`, which are HTML."""

    book: Book
    covers: Sequence[Cover]
    json: bytes


@dataclass(frozen=True, slots=True)
class _MadeFile:
    digest: str
    body: bytes
    missing_chapters: Sequence[int]


@dataclass(slots=True)
class _Shared:
    """A file that is being made, and how many wait for it."""

    task: asyncio.Task[bytes]
    callers: int = 0


class Publisher:
    """`_hopeless`: which kinds of file of a book took too long, and when that book had been changed last."""

    def __init__(
        self,
        database: Database,
        quota: Quota,
        pool: RenderPool | None = None,
        shortage: Callable[[], str | None] = lambda: None,
        *,
        marks_origin: bool = True,
    ) -> None:
        self._database = database
        self._quota = quota
        self._pool = pool or RenderPool()
        self._shortage = shortage
        self._marks_origin = marks_origin
        self._under_way: dict[str, _Shared] = {}
        self._hopeless: dict[tuple[int, str], datetime] = {}

    async def close(self) -> None:
        tasks = [shared.task for shared in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()

    async def export(self, account_id: int, book_id: int, format: str, settings: Mapping[str, Any]) -> ExportedFile:
        """A file in one of the plan's formats. The plan decides about the watermark, never a setting."""
        book, plan = await self._book(account_id, book_id)
        require_format(plan, format, self._quota.upgrade_url)
        made = await self._made(format, book, parse_settings(settings), plan)
        await exports.count(self._database.http, account_id, format)
        return _exported(made, FORMATS[format].content_type, file_name(book.title, format))

    async def make_files(self, account_id: int, book_id: int) -> None:
        """Has the files of all the plan's formats ready for exports without settings.

        NotFound; Conflict when nothing is written; RenderingFailed.
        """
        book, plan = await self._book(account_id, book_id)
        for format in plan.features.export_formats:
            await self._made(format, book, parse_settings({}), plan)

    async def preview(self, account_id: int, book_id: int, settings: Mapping[str, Any]) -> ExportedFile:
        """The first pages with PREVIEW across them, on every plan."""
        book, plan = await self._book(account_id, book_id)
        made = await self._made(PREVIEW, book, parse_settings(settings), plan)
        name = file_name(f"{book.title} (preview)", "pdf")
        return _exported(made, FORMATS["pdf"].content_type, name)

    async def pages(self, account_id: int, book_id: int) -> BookPages:
        """The pages as the PDF would have them."""
        book, plan = await self._book(account_id, book_id)
        made = await self._made(PAGES, book, ExportSettings(), plan)
        return BookPages(book, await covers.of_book(self._database.http, book.id), made.body)

    async def _book(self, account_id: int, book_id: int) -> tuple[Book, Plan]:
        """With the plan that its owner is on."""
        book = must_exist(await books.find(self._database.http, account_id, book_id))
        return book, await self._quota.plan(self._database.http, account_id)

    async def _job(
        self, kind: str, book: Book, written: Sequence[Chapter], settings: ExportSettings, plan: Plan
    ) -> Job:
        author = book.author_name or await accounts.author_name(self._database.http, book.account_id)
        selected = await covers.selected(self._database.http, book.id)
        cover = await self._picture(selected) if settings.include_cover or settings.cover_wrap else None
        design = _design(selected) if settings.cover_wrap else None
        pictures = await self._pictures(book.id) if settings.include_illustrations else []
        source = await self._source(book, written, settings) if self._marks_origin else None
        return Job(kind, book, written, author, settings, plan.features.watermark, cover, design, pictures, source)

    async def _source(self, book: Book, written: Sequence[Chapter], settings: ExportSettings) -> SourceType | None:
        """The origin that the file's metadata names: of its words and of the pictures in it."""
        db, account_id = self._database.http, book.account_id
        words = await words_of(db, account_id, book.id, written)
        has_cover = settings.include_cover or settings.cover_wrap
        shown = [
            each.source
            for each in await origins.pictures(db, account_id, book.id)
            if (has_cover if each.is_cover else settings.include_illustrations)
        ]
        return source_of(reduce(add, words.values(), Share()), shown)

    async def _picture(self, cover: Cover | None) -> Picture | None:
        body = cover and await media.find(self._database.http, cover.image_key)
        return Picture(body, cover.width, cover.height) if cover and body else None

    async def _pictures(self, book_id: int) -> list[PlacedPicture]:
        """The illustrations; one that is deleted meanwhile is left out."""
        found = []
        for each in await illustrations.of_book(self._database.http, book_id):
            if body := await media.find(self._database.http, each.image_key):
                picture = Picture(body, each.width, each.height)
                found.append(PlacedPicture(each.chapter_id, each.position, picture, each.alt_text, each.caption))
        return found

    async def _made(self, kind: str, book: Book, settings: ExportSettings, plan: Plan) -> _MadeFile:
        """A file that is kept, or is made once however many ask at the same time.

        The account's turn is awaited first: a book is many megabytes, and those who wait hold none of them.
        """
        async with self._pool.turn(book.account_id):
            written, missing = _parted(await chapters.of_book(self._database.http, book.id))
            if not written:
                raise Conflict("This book has no text yet. Write it first (POST /books/{id}/generate/).")
            if missing and settings.require_complete:
                raise Conflict(
                    f"{_named(missing)} not written yet. Write the missing text, or export without require_complete.",
                    missing_chapters=missing,
                )
            settings = replace(settings, require_complete=False)  # the file is the same
            job = await self._job(kind, book, written, settings, plan)
            self._refuse_hopeless(job)
            digest = await asyncio.to_thread(lambda: job.digest)
            found = await exports.find(self._database.http, book.id, digest)
            return _MadeFile(digest, found or await self._once(digest, lambda: self._make(job, digest)), missing)

    async def _once(self, key: str, make: Callable[[], Coroutine[Any, Any, bytes]]) -> bytes:
        """What `make` makes, called off when all who asked for it have left."""
        shared = self._under_way.get(key)
        if shared is None:
            shared = self._under_way[key] = _Shared(asyncio.create_task(make()))
        shared.callers += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.callers -= 1
            if not shared.callers:
                del self._under_way[key]
                shared.task.cancel()

    async def _make(self, job: Job, digest: str) -> bytes:
        try:
            body: bytes = await self._pool.run(job)
        except RenderTimeout:
            self._remember_hopeless(job)
            raise
        if not self._shortage():  # it can be made again
            await exports.keep(self._database.http, job.book.id, digest, job.kind, body)
        return body

    def _refuse_hopeless(self, job: Job) -> None:
        if self._hopeless.get((job.book.id, job.kind)) == _changed(job):
            raise Conflict(
                "Creating this file took too long or needed too much memory. Shorten the book's longest chapter."
            )

    def _remember_hopeless(self, job: Job) -> None:
        self._hopeless[job.book.id, job.kind] = _changed(job)
        if len(self._hopeless) > MAX_HOPELESS:
            del self._hopeless[next(iter(self._hopeless))]


def _exported(made: _MadeFile, content_type: str, name: str) -> ExportedFile:
    return ExportedFile(made.body, content_type, name, made.digest, made.missing_chapters)


def _parted(outline: Sequence[Chapter]) -> tuple[list[Chapter], list[int]]:
    """The chapters that have text, and the numbers of those that have none."""
    written = [chapter for chapter in outline if chapter.content.strip()]
    return written, [chapter.chapter_number for chapter in outline if not chapter.content.strip()]


def _named(numbers: Sequence[int]) -> str:
    """Such as "Chapter 2 is" or "Chapters 2, 5 and 6 are"."""
    *others, last = map(str, numbers)
    return f"Chapters {', '.join(others)} and {last} are" if others else f"Chapter {last} is"


def _design(cover: Cover | None) -> CoverDesign | None:
    """None: the cover is not one that was drawn here."""
    told = cover and cover.design
    return CoverDesign(**told | {"copy": Copy(**told["copy"])}) if told else None


def _changed(job: Job) -> datetime:
    return max(job.book.updated_at, *(chapter.updated_at for chapter in job.chapters))


MAX_NAME_BYTES = 200  # with an extension still less than any file system takes


def file_name(title: str, extension: str) -> str:
    """The title as a file name that every system takes."""
    name = one_line(re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]+', " ", title))
    name = name.strip(". ").encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(". ")
    return f"{name or 'book'}.{extension}"
