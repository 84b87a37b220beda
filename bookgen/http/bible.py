"""The story bible: what has been decided about a book. Every chapter is written from it. The author can change it."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.http import bible_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.conditional import is_expected
from bookgen.http.edge.contract import conditional, docs, grows, guarded, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.routing import path_id
from bookgen.models import Book
from bookgen.services import bible
from bookgen.store import books


@docs(
    "outline",
    "Read the story bible",
    "What is decided about the book: its voice, people, places and more. The story bible is generated with the "
    "outline, and every chapter is written from it.",
)
@response_schema(shapes.BibleSchema)
@conditional
async def read_bible(request: web.Request) -> web.Response:
    book = await books.find(request.app[SERVICES].database.http, request[ACCOUNT_ID], path_id(request))
    return replies.json(shapes.shown_bible(errors.must_exist(book)))


@docs(
    "outline",
    "Change the story bible",
    "Send the fields to change. Your fields take precedence over the model's, even if the outline is generated again. "
    "An empty text or list removes a field. Chapters that are not written yet follow the changed story bible. A "
    "written chapter that clearly contradicts the story bible gets a finding of the kind `bible` in the book's "
    "`quality`; `POST /books/{id}/review/` finds other contradictions. Send `If-Match` to avoid overwriting someone "
    "else's change.",
)
@json_schema(shapes.BibleChangesSchema)
@response_schema(shapes.BibleSchema)
@refuses(errors.Conflict, errors.PlanUpgradeRequired)
@grows
@guarded
async def change_bible(request: web.Request) -> web.Response:
    services, book_id, sent = request.app[SERVICES], path_id(request), request[BODY]

    def is_as_read(book: Book) -> bool:
        return is_expected(request, replies.dump(shapes.shown_bible(book)))

    changed = await bible.change(services.database.http, services.quota, request[ACCOUNT_ID], book_id, sent, is_as_read)
    return replies.json(shapes.shown_bible(changed))
