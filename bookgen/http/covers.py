"""Covers: generate variants and select one."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.http import covers_schemas as shapes
from bookgen.http.books import read_book, whole_book
from bookgen.http.books_schemas import BookSchema, BookViewQuerySchema
from bookgen.http.edge import replies
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


@docs(
    "covers",
    "Generate cover variants",
    "Synchronous. The title, subtitle and author are printed over a built-in design or a picture from the image "
    "model. Each variant counts as one image. A variant that fails is not counted, and the call fails only if all "
    "of them fail.",
)
@json_schema(shapes.CoverRequestSchema)
@response_schema(shapes.CoversSchema)
@refuses(errors.PlanUpgradeRequired, errors.QuotaExceeded, errors.UpstreamAIError)
@grows
@repeatable
@asks_model
async def generate_cover(request: web.Request) -> web.Response:
    made = await request.app[SERVICES].artwork.generate_covers(request[ACCOUNT_ID], path_id(request), **request[BODY])
    public_url = request.app[SERVICES].site.public_url
    return replies.json({"covers": [shapes.shown_cover(cover, public_url) for cover in made]})


@docs("covers", "Choose a variant as the cover", "Later exports use the chosen cover.")
@json_schema(shapes.CoverChoiceSchema)
@querystring_schema(BookViewQuerySchema)
@response_schema(BookSchema)
@refuses(errors.Conflict)
@guarded_by(read_book)
async def select_cover(request: web.Request) -> web.Response:
    book_id = path_id(request)
    await request.app[SERVICES].artwork.select_cover(request[ACCOUNT_ID], book_id, request[BODY]["cover_id"])
    return await whole_book(request, book_id)
