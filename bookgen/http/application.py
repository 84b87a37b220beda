"""Builds the aiohttp application: the services, the middleware, and the routes under both prefixes of the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aiohttp import web

from bookgen.http.answers.cache import (
    BOOK_CACHE,
    LIST_CACHE,
    MAX_BOOK_BYTES,
    MAX_LIST_BYTES,
    AnswerCache,
    CachedBook,
    CachedList,
)
from bookgen.http.books import whole_book
from bookgen.http.console import pages
from bookgen.http.edge import bodies, keys
from bookgen.http.edge.concurrency import RequestSemaphores
from bookgen.http.edge.contract import Endpoint
from bookgen.http.edge.keys import Services
from bookgen.http.edge.large_answers import Outgoing
from bookgen.http.edge.middleware import TABLE, edge
from bookgen.http.edge.preferences import Waiters
from bookgen.http.edge.routing import Route
from bookgen.http.outside.gauges import GAUGES, Gauges
from bookgen.http.routes import OPERATION, OUTSIDE, ROUTES

PREFIXES = ("/api/v1", "/api")


def build_app(
    services: Services, routes: Sequence[Route] = ROUTES, outside: Sequence[Route] = OUTSIDE
) -> web.Application:
    app = web.Application(middlewares=[edge], client_max_size=bodies.MAX_BYTES)
    app[keys.SERVICES] = services
    app[keys.UNKNOWN_PROXIES] = set()
    table: dict[web.AbstractRoute, Endpoint] = {}
    # The router tries the patterns in order, so polled routes come first.
    for prefix in PREFIXES:
        for route in sorted(routes, key=lambda route: not route.quiet):
            for bound in _bind(app, prefix, route):
                table[bound] = Endpoint.of(route)
    for route in outside:
        for bound in _bind(app, "", route):
            table[bound] = Endpoint.of(route)
    app[TABLE] = table
    app[keys.WAITING] = Waiters()
    app[keys.OUTGOING] = Outgoing()
    app[BOOK_CACHE] = AnswerCache[CachedBook](MAX_BOOK_BYTES)
    app[LIST_CACHE] = AnswerCache[CachedList](MAX_LIST_BYTES)
    app[keys.SEMAPHORES] = RequestSemaphores()
    app[GAUGES] = Gauges(services)
    app[keys.REREAD_BOOK] = whole_book
    app[keys.NOT_FOUND] = pages.not_found
    app[keys.DOCUMENT] = lambda: _document(tuple(routes), services.site.public_url)
    return app


def build_probes(services: Services) -> web.Application:
    """The application for a process that serves only health probes and metrics, not the API."""
    return build_app(services, (), OPERATION)


def _document(routes: tuple[Route, ...], public_url: str) -> bytes:
    from bookgen.http.docs import openapi  # slow to import, and only this document needs it

    return openapi.encoded(routes, public_url)


def _bind(app: web.Application, prefix: str, route: Route) -> Iterable[web.AbstractRoute]:
    path = prefix + route.pattern
    yield app.router.add_route(route.method, path, route.handler)
    if route.method == "GET" and not route.once:
        yield app.router.add_route("HEAD", path, route.handler)
