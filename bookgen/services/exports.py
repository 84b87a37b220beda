"""Publishes books: checks the plan, loads the book, makes a file in a worker process, and caches the file."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bookgen import metrics
from bookgen.billing.plan_features import require_format
from bookgen.billing.quota import Quota
from bookgen.errors import Conflict, NotFound, RenderTimeout, must_exist
from bookgen.files.keeping import Files
from bookgen.models import Book, Chapter, Cover, Plan
from bookgen.render.characters import one_line
from bookgen.render.fonts.missing import why_unprintable
from bookgen.render.formats import FORMATS
from bookgen.render.job import Job
from bookgen.render.page_slices import some_pages
from bookgen.render.pool import RenderLoad, RenderPool
from bookgen.render.settings import PAGES_OF_A_SCAN, ExportSettings
from bookgen.services.render_jobs import render_job
from bookgen.store import books, chapters, covers, exports
from bookgen.store.database import Database
from bookgen.threads import compute

PREVIEW, PAGES, SCANS = "preview", "pages", "scans"
Chosen = ExportSettings | None  # None: the settings that are stored with the book
MAX_RECENT_TIMEOUTS = 10_000
RETRY_SECONDS = 600.0  # after a timeout the file is not tried sooner; the machine may just have been busy

KINDS = (*FORMATS, "preview", "pages", "scans")  # of export jobs
metrics.start_at_zero(metrics.EXPORTS, KINDS, ("ok", "timeout", "failed"))
metrics.start_at_zero(metrics.EXPORT_TIMES, KINDS)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """An exported file. `missing_chapters`: the numbers of chapters without text, which the file leaves out."""

    body: bytes
    content_type: str
    filename: str
    etag: str
    missing_chapters: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class BookPages:
    """The pages of a book. `json`: an object with `page_count`, and `pages` as HTML or as images with their text."""

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
    """A file that is being made, and the number of callers waiting for it."""

    task: asyncio.Task[bytes]
    callers: int = 0


class Publisher:
    """Makes the files of books.

    `_recent_timeouts` has an entry for each file that recently took too long to make. Its key is the book's id and the
    kind of file. Its value is the time when the book was last changed, and the monotonic time of the attempt.
    """

    def __init__(
        self,
        database: Database,
        quota: Quota,
        pool: RenderPool | None = None,
        shortage: Callable[[], str | None] = lambda: None,
        *,
        files: Files | None = None,
        marks_origin: bool = True,
    ) -> None:
        self._database = database
        self._files = files or Files()
        self._quota = quota
        self._pool = pool or RenderPool()
        self._shortage = shortage
        self._marks_origin = marks_origin
        self._under_way: dict[str, _Shared] = {}
        self._recent_timeouts: dict[tuple[int, str], tuple[datetime, float]] = {}

    @property
    def load(self) -> RenderLoad:
        """How many worker processes are busy and idle, and how many jobs wait for a worker."""
        return self._pool.load

    async def close(self) -> None:
        tasks = [shared.task for shared in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()

    async def export(self, account_id: int, book_id: int, format: str, settings: Chosen = None) -> ExportedFile:
        """The book as a file in `format`, which the plan must include. The plan also decides about the watermark."""
        book, plan = await self._book(account_id, book_id)
        require_format(plan, format, self._quota.upgrade_url)
        made = await self._get_or_make(format, book, settings, plan)
        await exports.count(self._database.http, account_id, format)
        entry = FORMATS[format]
        return _exported(made, entry.content_type, file_name(book.title, entry.extension))

    async def make_files(self, account_id: int, book_id: int) -> None:
        """Make and cache the files in all formats of the plan, with the book's settings.

        Raises NotFound, RenderingFailed, and Conflict if the book has no text.
        """
        book, plan = await self._book(account_id, book_id)
        # A plan is a row that can name a format which this release does not have, as during a rolling upgrade.
        for format in (each for each in plan.features.export_formats if each in FORMATS):
            await self._get_or_make(format, book, None, plan)

    async def preview(self, account_id: int, book_id: int, settings: Chosen = None) -> ExportedFile:
        """The first pages as PDF with the watermark PREVIEW, for all plans."""
        book, plan = await self._book(account_id, book_id)
        made = await self._get_or_make(PREVIEW, book, settings, plan)
        name = file_name(f"{book.title} (preview)", "pdf")
        return _exported(made, FORMATS["pdf"].content_type, name)

    async def pages(self, account_id: int, book_id: int, first: int = 1, count: int | None = None) -> BookPages:
        """The pages as HTML, laid out as in the PDF.

        `count` limits the result to that many pages, starting with page `first`; without it, all pages are returned.
        Raises NotFound beyond the last page.
        """
        book, plan = await self._book(account_id, book_id)
        made = await self._get_or_make(PAGES, book, None, plan)
        pages = made.body if count is None else some_pages(made.body, first, count)
        if not pages:
            raise NotFound("No such page. Send `page=1` and read the number of pages in `page_count`.")
        return BookPages(book, await covers.of_book(self._database.http, book.id), pages)

    async def scans(self, account_id: int, book_id: int, settings: Chosen = None, batch: int = 1) -> BookPages:
        """Pages of the PDF with these settings, as images. Raises NotFound beyond the last page.

        `batch`: which pages to return. Batch 1 is the first PAGES_OF_A_SCAN pages, batch 2 the next ones, and so on.
        """
        book, plan = await self._book(account_id, book_id)
        settings = replace(settings or ExportSettings.of_book(book.export_settings), cover_wrap=False)
        made = await self._get_or_make(SCANS, book, settings, plan, first=(batch - 1) * PAGES_OF_A_SCAN + 1)
        if made.body.endswith(b"[]}"):
            raise NotFound("No such page. Send `page`: 1, and read the number of pages in `page_count`.")
        return BookPages(book, await covers.of_book(self._database.http, book.id), made.body)

    async def font_warning(self, book: Book) -> str | None:
        """What to do about a title that no installed font can show; None if a font can show it."""
        text = f"{book.title} {book.subtitle}".strip()
        return None if text.isascii() else await compute(why_unprintable, text, book.content_language)

    async def _book(self, account_id: int, book_id: int) -> tuple[Book, Plan]:
        """The book and its owner's plan."""
        book = must_exist(await books.find(self._database.http, account_id, book_id))
        return book, await self._quota.plan(self._database.http, account_id)

    async def _get_or_make(self, kind: str, book: Book, settings: Chosen, plan: Plan, *, first: int = 0) -> _MadeFile:
        """The file, from the cache or newly made. Concurrent requests for the same file share the work.

        An account can make only a few files at a time. While a request waits for its turn, its book is not loaded, so
        that texts and pictures do not fill the memory.
        """
        settings = settings or ExportSettings.of_book(book.export_settings)
        async with self._pool.turn(book.account_id):
            written, missing = _split_by_text(await chapters.of_book(self._database.http, book.id))
            if not written:
                raise Conflict("This book has no text yet. Write it first (POST /books/{id}/generate/).")
            if missing and settings.require_complete:
                raise Conflict(
                    f"{_named(missing)} not written yet. Write the missing text, or export without require_complete.",
                    missing_chapters=missing,
                )
            settings = replace(settings, require_complete=False)  # does not affect the file, so it can share the cache
            db, watermark = self._database.http, plan.features.watermark
            job = await render_job(db, self._files, kind, book, written, settings, watermark, marks=self._marks_origin)
            job = replace(job, first=first)
            self._refuse_recent_timeout(job)
            digest = await asyncio.to_thread(lambda: job.digest)
            found = await self._files.export(db, book.id, digest)
            return _MadeFile(digest, found or await self._once(digest, lambda: self._make(job, digest)), missing)

    async def _once(self, key: str, make: Callable[[], Coroutine[Any, Any, bytes]]) -> bytes:
        """The result of `make`. Concurrent calls with the same `key` share one task.

        The task is cancelled when all callers have stopped waiting for it.
        """
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
        began, outcome = time.monotonic(), "failed"
        try:
            body: bytes = await self._pool.run(job)
            outcome = "ok"
        except RenderTimeout:
            outcome = "timeout"
            self._remember_timeout(job)
            raise
        finally:
            metrics.EXPORTS.labels(job.kind, outcome).inc()
            metrics.EXPORT_TIMES.labels(job.kind).observe(time.monotonic() - began)
        if not self._shortage():  # not cached on a full disk, since the file can be made again
            await self._files.keep_export(self._database.http, job.book.id, digest, job.kind, body)
        return body

    def _refuse_recent_timeout(self, job: Job) -> None:
        changed, since = self._recent_timeouts.get((job.book.id, job.kind), (None, 0.0))
        if changed == _changed(job) and time.monotonic() < since + RETRY_SECONDS:
            raise Conflict(
                "Creating this file took too long or needed too much memory. Shorten the book's longest chapter (PATCH "
                "/chapters/{id}/), then export again. If the server was just busy, export again in ten minutes."
            )

    def _remember_timeout(self, job: Job) -> None:
        self._recent_timeouts[job.book.id, job.kind] = _changed(job), time.monotonic()
        if len(self._recent_timeouts) > MAX_RECENT_TIMEOUTS:
            del self._recent_timeouts[next(iter(self._recent_timeouts))]


def _exported(made: _MadeFile, content_type: str, name: str) -> ExportedFile:
    return ExportedFile(made.body, content_type, name, made.digest, made.missing_chapters)


def _split_by_text(outline: Sequence[Chapter]) -> tuple[list[Chapter], list[int]]:
    """The chapters that have text, and the numbers of the chapters that have none."""
    written = [chapter for chapter in outline if chapter.content.strip()]
    return written, [chapter.chapter_number for chapter in outline if not chapter.content.strip()]


def _named(numbers: Sequence[int]) -> str:
    """The chapters as a sentence's subject with its verb, such as "Chapter 2 is" or "Chapters 2, 5 and 6 are"."""
    *others, last = map(str, numbers)
    return f"Chapters {', '.join(others)} and {last} are" if others else f"Chapter {last} is"


def _changed(job: Job) -> datetime:
    return max(job.book.updated_at, *(chapter.updated_at for chapter in job.chapters))


MAX_NAME_BYTES = 200  # below the limit of all file systems, even with an extension


def file_name(title: str, extension: str) -> str:
    """The title as a file name that is valid on all systems."""
    name = one_line(re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]+', " ", title))
    name = name.strip(". ").encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(". ")
    return f"{name or 'book'}.{extension}"
