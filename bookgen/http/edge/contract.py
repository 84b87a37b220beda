"""What a handler says about itself: aiohttp-apispec's decorators, and the refusals that are its own.

    @docs(tags=["books"], summary="Create a book")
    @json_schema(BookCreation)
    @response_schema(BookDetail, 201)
    @refuses(errors.BookQuotaExceeded, errors.PlanUpgradeRequired)
    async def create(request): ...

Refusals that follow from the route (401, 404 of an id, 405, 413, 429, 500, 503) need no mention.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol, TypeVar

import aiohttp_apispec
from marshmallow import Schema

from bookgen.errors import BookgenError
from bookgen.http.edge.routing import Handler, Route

_F = TypeVar("_F", bound=Handler)


class Mark(Protocol):
    """A decorator that notes something on a handler and gives it back."""

    def __call__(self, handler: _F, /) -> _F: ...


docs: Callable[..., Mark] = aiohttp_apispec.docs
json_schema: Callable[..., Mark] = aiohttp_apispec.json_schema
querystring_schema: Callable[..., Mark] = aiohttp_apispec.querystring_schema
response_schema: Callable[..., Mark] = aiohttp_apispec.response_schema


def file_response(content_type: str, description: str) -> Mark:
    """Says that a success is a file and not JSON."""
    headers = {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in (("Content-Disposition", "A file name after RFC 5987."), ("ETag", "Of these very bytes."))
    }
    # The format is not JSON Schema's any more, but what generated clients know bytes by.
    content = {content_type: {"schema": {"type": "string", "format": "binary"}}}
    return docs(responses={200: {"description": description, "content": content, "headers": headers}})


_REFUSES = "__refuses__"
_CONDITIONAL = "__conditional__"


def conditional(handler: _F) -> _F:
    """Says that an answer carries a tag, and that a caller who has it already is told so."""
    setattr(handler, _CONDITIONAL, True)
    return handler


_GUARDED = "__guarded__"


def guarded(handler: _F) -> _F:
    """Says that a caller may name the answer that the change is made to."""
    setattr(handler, _GUARDED, True)
    return handler


_WAITS = "__waits__"


def waits(handler: _F) -> _F:
    """Says that a caller who has the answer may wait for the next one."""
    setattr(handler, _WAITS, True)
    return handler


_GROWS = "__grows__"


def grows(handler: _F) -> _F:
    """Says that more text or pictures are kept afterwards: refused while the disk is almost full."""
    setattr(handler, _GROWS, True)
    return handler


def does_grow(handler: Handler) -> bool:
    return getattr(handler, _GROWS, False)


def does_wait(handler: Handler) -> bool:
    return getattr(handler, _WAITS, False)


def is_guarded(handler: Handler) -> bool:
    return getattr(handler, _GUARDED, False)


def is_conditional(handler: Handler) -> bool:
    return getattr(handler, _CONDITIONAL, False)


def refuses(*refusals: type[BookgenError]) -> Mark:
    """Names the errors that this handler may answer with, besides those of its route."""

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
    """A route with what its handler says of itself, looked up once."""

    route: Route
    query: Schema | None
    body: Schema | None
    conditional: bool
    grows: bool
    waits: bool

    @classmethod
    def of(cls, route: Route) -> Endpoint:
        handler = route.handler
        return cls(
            route,
            query_schema(handler),
            body_schema(handler),
            is_conditional(handler),
            does_grow(handler),
            does_wait(handler),
        )


def _schema(handler: Handler, location: str) -> Schema | None:
    declared = getattr(handler, "__schemas__", ())
    return next((each["schema"] for each in declared if each["location"] == location), None)
