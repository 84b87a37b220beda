"""Creates children's books. Other requests about them go to the same endpoints as for other books."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.http import childrens_schemas as shapes
from bookgen.http.books import whole_book
from bookgen.http.books_schemas import MAX_AUTHOR_NAME, BookSchema
from bookgen.http.edge.contract import docs, grows, json_schema, refuses, repeatable, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.services import childrens
from bookgen.store import accounts


@docs(
    "books",
    "Create a draft children's book",
    "Needs the add-on `childrens-book`. Each chapter is a spread of two pages, with a short text for the age group and "
    "one picture. The main character looks the same in all pictures. To edit the plan of the spreads first, call "
    "`generate-outline`; otherwise `generate` plans them. The pictures count against the image quota.",
)
@json_schema(shapes.ChildrensCreationSchema)
@response_schema(BookSchema, 201)
@refuses(errors.BookQuotaExceeded, errors.PlanUpgradeRequired)
@grows
@repeatable
async def create_childrens(request: web.Request) -> web.Response:
    db, account_id, new = request.app[SERVICES].database.http, request[ACCOUNT_ID], request[BODY]
    new["author_name"] = new["author_name"] or (await accounts.author_name(db, account_id))[:MAX_AUTHOR_NAME]
    async with db.acquire() as connection:
        book = await childrens.create_childrens(connection, request.app[SERVICES].quota, account_id, new)
    return await whole_book(request, book.id, code=201)
