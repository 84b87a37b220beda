"""Books: list, create, read, change, delete, duplicate."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from bookgen import errors
from bookgen.http.books_schemas import DEFAULT_WORDS, Book, BookChanges, BookCreation, BookListed, BookTitle
from bookgen.http.edge import replies
from bookgen.http.edge.contract import conditional, docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, DATABASE, QUOTA, SUPERVISOR
from bookgen.http.edge.routing import path_id
from bookgen.http.representations import book_answer, list_answer
from bookgen.store import accounts, books, chapters, runs


@docs(tags=["books"], summary="List your books, most recently updated first")
@response_schema(BookListed(many=True))
@conditional
async def list_books(request: web.Request) -> web.Response:
    listed = await books.recent(request.app[DATABASE].http, request[ACCOUNT_ID])
    return replies.json(await list_answer(request, listed))


@docs(tags=["books"], summary="List ids and titles, for a selector")
@response_schema(BookTitle(many=True))
@conditional
async def dropdown(request: web.Request) -> web.Response:
    return replies.json(await books.titles(request.app[DATABASE].http, request[ACCOUNT_ID]))


@docs(tags=["books"], summary="Create a draft book", description="Nothing is consumed until its writing completes.")
@json_schema(BookCreation)
@response_schema(Book, 201)
@refuses(errors.BookQuotaExceeded, errors.PlanUpgradeRequired)
async def create_book(request: web.Request) -> web.Response:
    db, account_id, new = request.app[DATABASE].http, request[ACCOUNT_ID], request[BODY]
    new["target_word_count"] = new["target_word_count"] or await _default_words(request)
    await request.app[QUOTA].require_book(db, account_id, new["target_word_count"])
    new["author_name"] = new["author_name"] or await _account_name(request)
    book = await books.create(db, account_id, new)
    return await book_answer(request, book.id, code=201)


@docs(tags=["books"], summary="Read a book with all its chapters")
@response_schema(Book)
@conditional
async def read_book(request: web.Request) -> web.Response:
    return await book_answer(request, path_id(request))


@docs(
    tags=["books"],
    summary="Change a book's metadata",
    description=(
        "Takes any of the creation fields. A new `target_word_count` is shared out over the chapters that are not "
        "written yet; the number of chapters is fixed by the outline."
    ),
)
@json_schema(BookChanges)
@response_schema(Book)
@refuses(errors.PlanUpgradeRequired, errors.Conflict)
async def change_book(request: web.Request) -> web.Response:
    account_id, book_id, changes = request[ACCOUNT_ID], path_id(request), _known(request[BODY])
    async with request.app[DATABASE].http.acquire() as connection, connection.transaction():
        if await books.find(connection, account_id, book_id) is None:
            raise errors.NotFound
        if "target_word_count" in changes:
            await runs.lock_slot(connection, account_id)  # no run is accepted for another length meanwhile
        existing = await chapters.lock_of_book(connection, book_id)
        book = await books.lock(connection, account_id, book_id)
        if book is None:
            raise errors.NotFound
        if existing and changes.get("chapter_count", book.chapter_count) != book.chapter_count:
            raise errors.Conflict("The outline already has its chapters. Use update-outline to add or remove some.")
        target = changes.get("target_word_count", book.target_word_count)
        if target > book.target_word_count:
            await request.app[QUOTA].require_words(connection, account_id, book_id, target)
        if existing and target != book.target_word_count:
            await chapters.rebudget(connection, book_id, target)
        await books.save(connection, book, changes)
    return await book_answer(request, book_id)


@docs(tags=["books"], summary="Delete a book and everything made for it", description="Stops its run first.")
@response_schema(None, 204)
@refuses(errors.Conflict)
async def delete_book(request: web.Request) -> web.Response:
    await request.app[SUPERVISOR].delete_book(request[ACCOUNT_ID], path_id(request))
    return replies.nothing()


@docs(tags=["books"], summary="Copy a book and its chapters as a new draft")
@response_schema(Book, 201)
async def duplicate_book(request: web.Request) -> web.Response:
    async with request.app[DATABASE].http.acquire() as connection, connection.transaction():
        copy = await books.duplicate(connection, request[ACCOUNT_ID], path_id(request))
    if copy is None:
        raise errors.NotFound
    return await book_answer(request, copy.id, code=201)


def _known(changes: dict[str, Any]) -> dict[str, Any]:
    """What is to change. A word count of null asks for nothing."""
    return {name: value for name, value in changes.items() if value is not None}


async def _default_words(request: web.Request) -> int:
    options = await request.app[QUOTA].creation_options(request.app[DATABASE].http, request[ACCOUNT_ID])
    return min(DEFAULT_WORDS, options.max_words) or DEFAULT_WORDS


async def _account_name(request: web.Request) -> str:
    account = await accounts.find(request.app[DATABASE].http, request[ACCOUNT_ID])
    return (account.full_name or account.username) if account else ""
