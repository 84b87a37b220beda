"""Outlines: generate an outline, edit it, and have the model revise some of its chapters."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.actors.messages import DraftOutline, ReworkChapters
from bookgen.http import outlines_schemas as shapes
from bookgen.http.books import read_book, version_read, whole_book
from bookgen.http.books_schemas import BookSchema, BookViewQuerySchema
from bookgen.http.edge.contract import (
    asks_model,
    docs,
    grows,
    guarded_by,
    json_schema,
    querystring_schema,
    refuses,
    repeatable,
    response_schema,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.routing import path_id
from bookgen.services import editing


@docs("outline", "Generate the outline", "Synchronous; may take tens of seconds. Replaces existing chapters.")
@querystring_schema(BookViewQuerySchema)
@response_schema(BookSchema)
@refuses(errors.GenerationInProgress, errors.Conflict, errors.QuotaExceeded, errors.UpstreamAIError)
@grows
@guarded_by(read_book)
@repeatable
@asks_model
async def generate_outline(request: web.Request) -> web.Response:
    book_id = path_id(request)
    await request.app[SERVICES].supervisor.run_job(request[ACCOUNT_ID], book_id, DraftOutline())
    return await whole_book(request, book_id)


@docs(
    "outline",
    "Edit the outline",
    "Each entry changes the chapter with its `id` or, without an `id`, with its `chapter_number`; an entry without "
    "either adds a chapter at the end. An `id` of another book is refused. With `replace`, `chapters` is the whole "
    "outline, in order, and chapters that it leaves out are deleted. While a run is paused, only chapters without text "
    "can change. An entry may contain the fields of a chapter's `plan`. If plan and summary disagree, "
    "the summary counts.",
)
@json_schema(shapes.OutlineChangesSchema)
@querystring_schema(BookViewQuerySchema)
@response_schema(BookSchema)
@refuses(errors.GenerationInProgress, errors.Conflict, errors.PlanUpgradeRequired)
@grows
@guarded_by(read_book)
async def update_outline(request: web.Request) -> web.Response:
    book_id, changes = path_id(request), request[BODY]
    async with request.app[SERVICES].database.http.acquire() as connection:
        await editing.revise_outline(
            connection,
            request.app[SERVICES].quota,
            request[ACCOUNT_ID],
            book_id,
            changes["chapters"],
            replace=changes["replace"],
            read=version_read(request),
        )
    return await whole_book(request, book_id)


@docs(
    "outline",
    "Rework the titles and summaries of some chapters",
    "The text that these chapters have is saved as a revision and cleared, so the next run writes it again.",
)
@json_schema(shapes.ChapterSelectionSchema)
@querystring_schema(BookViewQuerySchema)
@response_schema(BookSchema)
@refuses(errors.GenerationInProgress, errors.Conflict, errors.QuotaExceeded, errors.UpstreamAIError)
@grows
@guarded_by(read_book)
@repeatable
@asks_model
async def regenerate_chapters(request: web.Request) -> web.Response:
    book_id, chosen = path_id(request), request[BODY]
    job = ReworkChapters(tuple(dict.fromkeys(chosen["chapter_ids"])), chosen["instructions"])
    await request.app[SERVICES].supervisor.run_job(request[ACCOUNT_ID], book_id, job)
    return await whole_book(request, book_id)
