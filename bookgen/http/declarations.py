"""The declaration of who made a book: people or AI models. Publishing platforms ask authors for it."""

from __future__ import annotations

from aiohttp import web

from bookgen.http import declarations_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.contract import conditional, docs, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, SERVICES
from bookgen.http.edge.routing import path_id
from bookgen.services.declaration import declare


@docs(
    "books",
    "Read which parts models and people made",
    "Computed from the chapters, their revisions and the ledger of model calls. A word counts as a model's if it is "
    "one of five consecutive words that also occur in a text that a model wrote for the chapter. Chapters without "
    "text are left out.",
)
@response_schema(shapes.DeclarationSchema)
@conditional
async def read_declaration(request: web.Request) -> web.Response:
    db = request.app[SERVICES].database.http
    declaration = await declare(db, request[ACCOUNT_ID], path_id(request))
    return replies.json(shapes.shown_declaration(declaration))
