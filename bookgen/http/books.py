"""Books: list, create, read, change, delete, duplicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bookgen import errors
from bookgen.http import books_schemas as shapes
from bookgen.http.answers.cache import (
    BOOK_CACHE,
    LIST_CACHE,
    CachedBook,
    CachedChapter,
    CachedList,
)
from bookgen.http.answers.chapter_pieces import in_pieces, piece_of
from bookgen.http.answers.views import BookView, view_of
from bookgen.http.covers_schemas import media_url, selected_url, shown_cover
from bookgen.http.demo import demo_book
from bookgen.http.edge import replies
from bookgen.http.edge.conditional import READS, IfNoneMatch, minimal_tag
from bookgen.http.edge.contract import (
    conditional,
    docs,
    grows,
    guarded_by,
    json_schema,
    querystring_schema,
    refuses,
    repeatable,
    response_schema,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES, SHOWN_BOOK
from bookgen.http.edge.large_answers import LARGE, tag_of
from bookgen.http.edge.routing import path_id
from bookgen.http.edge.schemas import as_json
from bookgen.http.generation import progress_in_list, progress_of
from bookgen.http.illustrations_schemas import by_chapter
from bookgen.models import Book, Chapter, Estimate
from bookgen.services import copying, editing
from bookgen.store import accounts, books, chapters, covers, illustrations, whole_books
from bookgen.store import progress as runs
from bookgen.store.books import BookVersion
from bookgen.store.chapters import Sketch
from bookgen.store.database import DB
from bookgen.store.whole_books import WholeBook

_CHAPTERS, _END = b',"chapters":[', b"]}"


@docs(
    "books",
    "List your books, most recently updated first",
    "The list omits chapters and covers. It includes the progress of books that are being written.",
)
@response_schema(shapes.BookListedSchema(many=True))
@conditional
async def list_books(request: web.Request) -> web.Response:
    db, account_id = request.app[SERVICES].database.http, request[ACCOUNT_ID]
    version, condition = await books.version_of_list(db, account_id), IfNoneMatch(request)
    if condition.matches(tag_of(version.encode())):
        return condition.answer({})
    cached = request.app[LIST_CACHE].find(account_id, version)
    if cached is None:
        listed = await with_progress(request, await books.recent(db, account_id))
        cached = CachedList(version, replies.dump(listed))
        request.app[LIST_CACHE].keep(account_id, cached)
    return replies.encoded(cached.encoded, headers={"ETag": condition.tag})


@docs(
    "books",
    "List ids and titles, for a selector",
    "Returns the id and title of each of your books, most recently updated first.",
)
@response_schema(shapes.BookTitleSchema(many=True))
@conditional
async def dropdown(request: web.Request) -> web.Response:
    return replies.json(await books.titles(request.app[SERVICES].database.http, request[ACCOUNT_ID]))


@docs("books", "A complete demo book with chapters", "A sample of what this service creates. No account needed.")
@response_schema(shapes.BookSchema)
@conditional
async def demo(_request: web.Request) -> web.Response:
    return replies.encoded(demo_book.body())


@docs(
    "books",
    "Create a draft book",
    "A draft does not count against your quota. One book of your plan, or one credit, is reserved when you start "
    "generating the book, and used when the book has been written.",
)
@json_schema(shapes.BookCreationSchema)
@querystring_schema(shapes.BookViewQuerySchema)
@response_schema(shapes.BookSchema, 201)
@refuses(errors.BookQuotaExceeded, errors.PlanUpgradeRequired)
@grows
@repeatable
async def create_book(request: web.Request) -> web.Response:
    db, account_id, new = request.app[SERVICES].database.http, request[ACCOUNT_ID], request[BODY]
    new["target_word_count"] = new.get("target_word_count") or await _default_words(request)
    new["author_name"] = new["author_name"] or (await accounts.author_name(db, account_id))[: shapes.MAX_AUTHOR_NAME]
    async with db.acquire() as connection:
        book = await editing.create_book(connection, request.app[SERVICES].quota, account_id, new)
    return await whole_book(request, book.id, code=201)


@docs(
    "books",
    "Read a book with all its chapters",
    "Includes the texts, the progress, the model usage so far, and an estimate for a full run.",
)
@querystring_schema(shapes.BookViewQuerySchema)
@response_schema(shapes.BookSchema)
@conditional
async def read_book(request: web.Request) -> web.Response:
    return await whole_book(request, path_id(request))


@docs(
    "books",
    "Change a book's metadata",
    "Accepts any creation field. A new `target_word_count` is divided among the chapters that are not "
    "written yet. Once the book has an outline, `chapter_count` cannot change. Send `If-Match` to avoid overwriting "
    "someone else's change.",
)
@json_schema(shapes.BookChangesSchema)
@querystring_schema(shapes.BookViewQuerySchema)
@response_schema(shapes.BookSchema)
@refuses(errors.PlanUpgradeRequired, errors.Conflict, errors.GenerationInProgress)
@grows
@guarded_by(read_book)
async def change_book(request: web.Request) -> web.Response:
    book_id, changes, read = path_id(request), request[BODY], version_read(request)
    async with request.app[SERVICES].database.http.acquire() as connection:
        await editing.change_book(connection, request.app[SERVICES].quota, request[ACCOUNT_ID], book_id, changes, read)
    return await whole_book(request, book_id)


@docs("books", "Delete a book and everything in it", "Stops its run first.")
@response_schema(None, 204)
@refuses(errors.Conflict)
@guarded_by(read_book)
async def delete_book(request: web.Request) -> web.Response:
    await request.app[SERVICES].supervisor.delete_book(request[ACCOUNT_ID], path_id(request))
    return replies.nothing()


@docs(
    "books",
    "Copy a book and its chapters as a new draft",
    "The copy includes the covers and pictures, and uses no image quota. It does not include the runs and the history "
    "of the original. The copy itself is free. To have its text written anew uses another book of your plan or another "
    "credit.",
)
@querystring_schema(shapes.BookViewQuerySchema)
@response_schema(shapes.BookSchema, 201)
@refuses(errors.PlanUpgradeRequired)
@grows
@repeatable
async def duplicate_book(request: web.Request) -> web.Response:
    services = request.app[SERVICES]
    copy = await copying.copy_book(
        services.database.http, services.files, services.quota, request[ACCOUNT_ID], path_id(request)
    )
    return await whole_book(request, copy.id, code=201)


@dataclass(frozen=True, slots=True)
class LoadedBook:
    """A book as read from the database. `detail`: the book as JSON, without the estimate and the chapters.

    `unchanged`: the chapters whose cached JSON is still valid, by id; their texts were not read. `sketches`: all
    chapters, in order, with the texts that were read. If the book is `large`, the sketches have no texts.
    """

    book: Book
    sketches: Sequence[Sketch]
    unchanged: Mapping[int, CachedChapter]
    artwork: shapes.BookArtwork
    detail: dict[str, Any]
    large: bool

    @property
    def chapters(self) -> list[Chapter]:
        return [each.chapter for each in self.sketches]

    @property
    def progress(self) -> dict[str, Any] | None:
        progress: dict[str, Any] | None = self.detail["generation_progress"]
        return progress


BOOK_VERSION: web.RequestKey[str] = web.RequestKey("book_version")  # of the book that the request has read last


def version_read(request: web.Request) -> str | None:
    """The version of the book with which If-Match was compared; None if the request has no If-Match."""
    return request[BOOK_VERSION] if "If-Match" in request.headers else None


async def whole_book(request: web.Request, book_id: int, *, code: int = 200) -> web.Response:
    """A response with the whole book and its ETag, or with only the fields that the caller asked for.

    If the caller already has the current version, a GET returns 304. Otherwise the status is `code`. Raises NotFound if
    the account has no such book.
    """
    found = errors.must_exist(await books.version(request.app[SERVICES].database.http, request[ACCOUNT_ID], book_id))
    request[BOOK_VERSION], request[SHOWN_BOOK] = found.version, book_id
    if view := view_of(request):
        return _part(request, found, await _load(request, book_id, {}), code, view)
    if found.active:  # the book's row does not show work in flight
        return _answer(request, found, await _load(request, book_id, {}), code)
    cached = request.app[BOOK_CACHE].find(book_id, found.version)
    if cached is None:
        former = request.app[BOOK_CACHE].latest(book_id)
        unchanged = former.unchanged(found.of_chapters()) if former else {}
        loaded = await _load(request, book_id, unchanged)
        if loaded.large:
            return _answer(request, found, loaded, code)
        cached = _as_cached(request, found, loaded)
        request.app[BOOK_CACHE].keep(book_id, cached)
    return _cached_answer(request, cached, code)


def _tag(version: str, estimated: Mapping[str, Any], progress: Mapping[str, Any] | None) -> str:
    """The ETag of a book. `progress`: the progress of an active run, which changes without changing `version`.

    A run is the writing of a book.
    """
    return tag_of(replies.dump([version, estimated, progress]))


async def _load(request: web.Request, book_id: int, cached: Mapping[int, CachedChapter]) -> LoadedBook:
    """Load the book. `cached`: chapters that need not be read. Raises NotFound if the account has no such book."""
    async with request.app[SERVICES].database.http.acquire() as connection:
        whole = errors.must_exist(await whole_books.find(connection, request[ACCOUNT_ID], book_id))
        artwork = await _artwork(connection, whole, request.app[SERVICES].site.public_url)
        unchanged = {number: each for number, each in cached.items() if number not in artwork.illustrations}
        known = [each.sketch for each in unchanged.values()]
        room = LARGE - sum(each.bytes for each in known)
        anew = await chapters.sketch_of_book(connection, book_id, room, list(unchanged))
    sketches = sorted(known + anew, key=lambda each: each.chapter.chapter_number)
    progress = await progress_of(request, book_id)
    usage = as_json(shapes.UsageSumSchema, whole.usage, currency=request.app[SERVICES].site.currency)
    written = [each.chapter for each in sketches]
    warning = await request.app[SERVICES].publisher.font_warning(whole.book)
    told = shapes.shown_whole(whole.book, written, progress, whole.findings, usage, artwork, warning)
    large = sum(each.bytes for each in sketches) > LARGE
    return LoadedBook(whole.book, sketches, unchanged, artwork, told, large)


def _answer(request: web.Request, found: BookVersion, loaded: LoadedBook, code: int) -> web.Response:
    estimated, condition = _estimated(_estimate(request, loaded.book, loaded.chapters)), IfNoneMatch(request)
    if condition.matches(_tag(found.version, estimated, loaded.progress if found.active else None)):
        return condition.answer({})
    head = replies.dump(loaded.detail | estimated)[:-1]
    response = _with_chapters(request, loaded, head + _CHAPTERS, code)
    response.headers["ETag"] = condition.tag
    return response


def _part(request: web.Request, found: BookVersion, loaded: LoadedBook, code: int, view: BookView) -> web.Response:
    """The requested part of the book. Its ETag is that of the whole book, so a later change can send it as If-Match."""
    estimated, condition = _estimated(_estimate(request, loaded.book, loaded.chapters)), IfNoneMatch(request)
    tag = _tag(found.version, estimated, loaded.progress if found.active else None)
    if condition.matches(minimal_tag(tag) if view.minimal and request.method in READS else tag):
        return condition.answer(view.headers)
    head = replies.dump(view.of_book(loaded.detail | estimated))[:-1]
    if view.chapters:
        before = head + (_CHAPTERS if len(head) > 1 else _CHAPTERS[1:])
        response = _with_chapters(request, loaded, before, code, view)
    else:
        response = replies.encoded(head + b"}", status=code)
    response.headers.update({"ETag": condition.tag, "Vary": "Prefer", **view.headers})
    return response


def _with_chapters(
    request: web.Request, loaded: LoadedBook, before: bytes, code: int, view: BookView | None = None
) -> web.Response:
    """The response with the chapters after `before`, which is the JSON up to them. Sends long texts in pieces.

    `view`: the fields of each chapter to include; None for all fields.
    """
    pick, pictures = view.of_chapter if view else dict[str, Any], loaded.artwork.illustrations
    if loaded.large and (view is None or "content" in view.chapters):
        return in_pieces(request, loaded.sketches, pictures, before=before, after=_END, status=code, pick=pick)
    chapters_ = b",".join(piece_of(each, pictures, pick) for each in loaded.chapters)
    return replies.encoded(before + chapters_ + _END, status=code)


def _as_cached(request: web.Request, found: BookVersion, loaded: LoadedBook) -> CachedBook:
    """The loaded book in the form that the cache stores. `found`: the version, read before the book was loaded."""
    versions, pictures, cached = found.of_chapters(), loaded.artwork.illustrations, dict[int, CachedChapter]()
    for sketch in loaded.sketches:
        number = sketch.chapter.id
        version = "" if number in pictures else versions.get(number, "")
        cached[number] = loaded.unchanged.get(number) or CachedChapter(
            version, sketch.without_text(), piece_of(sketch.chapter, pictures)
        )
    estimate = _estimate(request, loaded.book, loaded.chapters)
    return CachedBook(found.version, replies.dump(loaded.detail)[:-1], cached, estimate)


def _joined(head: bytes, pieces: Iterable[bytes]) -> bytes:
    return b"".join((head, _CHAPTERS, b",".join(pieces), _END))


def _cached_answer(request: web.Request, cached: CachedBook, code: int) -> web.Response:
    """The cached book with the current estimate. If the caller already has both, the response is 304."""
    estimated, condition = _estimated(cached.estimate), IfNoneMatch(request)
    if condition.matches(_tag(cached.version, estimated, None)):
        return condition.answer({})
    rest = b"," + replies.dump(estimated)[1:-1]
    body = _joined(cached.head + rest, (each.encoded for each in cached.chapters.values()))
    return replies.encoded(body, status=code, headers={"ETag": condition.tag})


def _estimate(request: web.Request, book: Book, written: Sequence[Chapter]) -> Callable[[], Estimate] | None:
    return request.app[SERVICES].estimate(book, written) if written else None


def _estimated(estimate: Callable[[], Estimate] | None) -> dict[str, Any]:
    return shapes.estimated(estimate() if estimate else None)


async def with_progress(request: web.Request, listed: Sequence[books.ListedBook]) -> list[dict[str, Any]]:
    """The books as JSON for a list, with the progress of each book's newest run (the writing of the book).

    The progress is None if the book never had a run.
    """
    db, account_id, public_url = (
        request.app[SERVICES].database.http,
        request[ACCOUNT_ID],
        request.app[SERVICES].site.public_url,
    )
    progress = await runs.of_account(db, account_id)
    keys = await covers.selected_of_account(db, account_id)
    urls = {book_id: media_url(public_url, key) for book_id, key in keys.items()}
    return [
        shapes.shown_in_list(
            each.book,
            each.chapters_count,
            each.word_count,
            progress_in_list(request, progress.get(each.book.id)),
            urls.get(each.book.id),
        )
        for each in listed
    ]


async def _artwork(db: DB, whole: WholeBook, public_url: str) -> shapes.BookArtwork:
    """The covers and illustrations of the book as JSON. The caller of this function has checked who owns the book."""
    book = whole.book
    found = await covers.of_book(db, book.id) if whole.has_covers else []
    pictures = await illustrations.of_book(db, book.id) if whole.has_pictures else []
    return shapes.BookArtwork(
        selected_url(found, public_url),
        [shown_cover(each, public_url) for each in found],
        by_chapter(pictures, public_url),
        media_url(public_url, book.character_sheet_key) if book.character_sheet_key else None,
    )


async def _default_words(request: web.Request) -> int:
    options = await request.app[SERVICES].quota.creation_options(
        request.app[SERVICES].database.http, request[ACCOUNT_ID]
    )
    return min(shapes.DEFAULT_WORDS, options.max_words) or shapes.DEFAULT_WORDS
