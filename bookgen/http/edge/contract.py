"""Decorators that describe a handler: those of aiohttp-apispec, and our own, such as `refuses` for its errors.

    @docs("books", "Create a book", "Nothing is consumed until its writing completes.")
    @json_schema(BookCreation)
    @response_schema(BookDetail, 201)
    @refuses(errors.BookQuotaExceeded, errors.PlanUpgradeRequired)
    async def create(request): ...

Do not list errors that follow from the route: 401, 404 for an id, 405, 413, 429, 500, 503.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

import aiohttp_apispec
from marshmallow import Schema

from bookgen.errors import BookgenError
from bookgen.http.edge.routing import Handler, Route

_F = TypeVar("_F", bound=Handler)


class Mark(Protocol):
    """A decorator that stores a fact about a handler on the handler and returns it."""

    def __call__(self, handler: _F, /) -> _F: ...


json_schema: Callable[..., Mark] = aiohttp_apispec.json_schema
querystring_schema: Callable[..., Mark] = aiohttp_apispec.querystring_schema
response_schema: Callable[..., Mark] = aiohttp_apispec.response_schema


def docs(tag: str, summary: str, description: str) -> Mark:
    """Set the handler's section, title and description in the OpenAPI document."""
    mark: Mark = aiohttp_apispec.docs(tags=[tag], summary=summary, description=description)
    return mark


def answers_content(content_type: str, schema: Mapping[str, Any], description: str, **more: Any) -> Mark:
    """Declare the content type and the JSON Schema of a successful response that has no marshmallow schema.

    `more`: other OpenAPI members of the response, such as its headers.
    """
    content = {content_type: {"schema": schema}}
    mark: Mark = aiohttp_apispec.docs(responses={200: {"description": description, "content": content, **more}})
    return mark


def either_response(description: str, *schemas: type[Schema]) -> Mark:
    """Declare that a successful response matches one of these schemas."""
    return answers_content("application/json", {"oneOf": [schema() for schema in schemas]}, description)


def file_response(content_type: str, description: str, more: Mapping[str, str] | None = None) -> Mark:
    """Declare that a successful response is a file. `more`: further response headers with their descriptions."""
    told = {"Content-Disposition": "A file name (RFC 5987).", "ETag": "Identifies these bytes."} | dict(more or {})
    headers = {name: {"description": text, "schema": {"type": "string"}} for name, text in told.items()}
    # JSON Schema 2020-12 has dropped `binary`, but client generators still recognize bytes by it.
    return answers_content(content_type, {"type": "string", "format": "binary"}, description, headers=headers)


class Trait:
    """A decorator that marks a handler with a property, such as `repeatable`. `marks` tells whether it is marked."""

    def __init__(self, name: str) -> None:
        self._name = f"__{name}__"

    def __call__(self, handler: _F, /) -> _F:
        setattr(handler, self._name, True)
        return handler

    def marks(self, handler: Handler) -> bool:
        return getattr(handler, self._name, False)


conditional = Trait("conditional")  # the answer has an ETag; If-None-Match is answered with 304
guarded = Trait("guarded")  # the handler checks If-Match in the transaction of the change
repeatable = Trait("repeatable")  # takes an `Idempotency-Key`
waits = Trait("waits")  # `Prefer: wait` waits for the next answer
grows = Trait("grows")  # stores more text or pictures: refused while the disk is almost full
asks_model = Trait("asks_model")  # calls a model: refused to unverified accounts (see `store.accounts.is_proven`)

_READ_FIRST = "__read_first__"


def guarded_by(read: Handler) -> Mark:
    """Compare If-Match before the handler runs, with the ETag of the response that `read` gives to the same request."""

    def mark(handler: _F, /) -> _F:
        setattr(handler, _READ_FIRST, read)
        return guarded(handler)

    return mark


_REFUSES = "__refuses__"


def refuses(*refusals: type[BookgenError]) -> Mark:
    """List the errors that this handler can return, besides the errors that follow from its route."""

    def mark(handler: _F, /) -> _F:
        setattr(handler, _REFUSES, refusals)
        return handler

    return mark


def refusals(handler: Handler) -> tuple[type[BookgenError], ...]:
    return getattr(handler, _REFUSES, ())


@cache
def body_schema(handler: Handler) -> Schema | None:
    return _schema(handler, "json")


@cache
def query_schema(handler: Handler) -> Schema | None:
    return _schema(handler, "querystring")


class Endpoint(NamedTuple):
    """A route with the properties that decorators gave its handler. They are read once, when the application is built.

    `query`, `body`: the schemas of the request. `tagged`: the responses have an ETag. `read_first`: the handler whose
    response is compared with If-Match. `repeatable`: accepts an Idempotency-Key. `grows`: stores more data, so it is
    refused while the disk is almost full. `asks_model`: calls a model, so it is refused to unverified accounts.
    `waits`: supports `Prefer: wait`.
    """

    route: Route
    query: Schema | None
    body: Schema | None
    tagged: bool
    read_first: Handler | None
    repeatable: bool
    grows: bool
    asks_model: bool
    waits: bool

    @classmethod
    def of(cls, route: Route) -> Endpoint:
        handler = route.handler
        return cls(
            route,
            query_schema(handler),
            body_schema(handler),
            conditional.marks(handler) or guarded.marks(handler),
            getattr(handler, _READ_FIRST, None),
            repeatable.marks(handler),
            grows.marks(handler),
            asks_model.marks(handler),
            waits.marks(handler),
        )


def _schema(handler: Handler, location: str) -> Schema | None:
    declared = getattr(handler, "__schemas__", ())
    return next((each["schema"] for each in declared if each["location"] == location), None)
