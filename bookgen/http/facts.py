"""The facts of a story: what the chapters say, each with a quote, and the author's decisions on facts."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.http import facts_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.conditional import is_expected
from bookgen.http.edge.contract import conditional, docs, guarded, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.routing import path_id
from bookgen.models import Fact
from bookgen.services import facts as decisions
from bookgen.store import books, facts


@docs(
    "outline",
    "List the facts of the story",
    "What the chapters say about the story, each fact with the passage that states it, in the order of the book. The "
    "model extracts the facts of a chapter before it writes the next one. It extracts the facts of the last chapter "
    "before it writes the blurb or a proofreading report. A fact is listed as long as its passage is in the chapter.",
)
@response_schema(shapes.FactSchema(many=True))
@conditional
async def list_facts(request: web.Request) -> web.Response:
    pool, book_id = request.app[SERVICES].database.http, path_id(request)
    errors.must_exist(await books.find(pool, request[ACCOUNT_ID], book_id))
    return replies.json([shapes.shown_fact(fact) for fact in await facts.of_book(pool, book_id)])


@docs("outline", "Read a fact", "To change the fact safely, send the `ETag` of this answer as `If-Match`.")
@response_schema(shapes.FactSchema)
@conditional
async def read_fact(request: web.Request) -> web.Response:
    pool, fact_id = request.app[SERVICES].database.http, path_id(request, "fact_id")
    fact = await facts.find(pool, request[ACCOUNT_ID], path_id(request), fact_id)
    return replies.json(shapes.shown_fact(errors.must_exist(fact, "fact of this book")))


@docs(
    "outline",
    "Correct or exempt a fact",
    "Your decision takes precedence over the text. Later chapters follow the `value` that you send; a report lists "
    "passages that clearly still have the old value. With the status `intended`, contradictions to the fact are not "
    "reported again; say why in `reason`. With the status `wrong`, the fact is ignored. Send `If-Match` to avoid "
    "overwriting someone else's change.",
)
@json_schema(shapes.FactChangesSchema)
@response_schema(shapes.FactSchema)
@refuses(errors.Conflict)
@guarded
async def change_fact(request: web.Request) -> web.Response:
    book_id, fact_id, sent = path_id(request), path_id(request, "fact_id"), request[BODY]

    def is_as_read(fact: Fact) -> bool:
        return is_expected(request, replies.dump(shapes.shown_fact(fact)))

    async with request.app[SERVICES].database.http.acquire() as connection:
        changed = await decisions.decide(connection, request[ACCOUNT_ID], book_id, fact_id, sent, is_as_read)
    return replies.json(shapes.shown_fact(changed))
