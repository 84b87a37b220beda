"""Builds the aiohttp application: services, middleware, both prefixes, the slash rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from aiohttp import web

from bookgen.http.answers.cache import (
    KEPT_BOOKS,
    KEPT_LISTS,
    MAX_BOOK_BYTES,
    MAX_LIST_BYTES,
    KeptAnswers,
    KeptBook,
    KeptList,
)
from bookgen.http.books import whole_book
from bookgen.http.console import pages
from bookgen.http.edge import bodies, keys
from bookgen.http.edge.concurrency import RequestLines
from bookgen.http.edge.connection import BoundedServer
from bookgen.http.edge.connection_counts import ConnectionCounts
from bookgen.http.edge.contract import Endpoint
from bookgen.http.edge.keys import Services
from bookgen.http.edge.large_answers import Outgoing
from bookgen.http.edge.middleware import TABLE, edge
from bookgen.http.edge.preferences import Waiters
from bookgen.http.edge.routing import Route
from bookgen.http.outside.gauges import GAUGES, Gauges
from bookgen.http.routes import OPERATION, OUTSIDE, ROUTES

PREFIXES = ("/api/v1", "/api")

HEAD_SECONDS = 15.0
KEEPALIVE_SECONDS = 30.0
# A client library's pool holds 100 connections (aiohttp, httpx) and a browser opens 6. This leaves room for several
# clients behind one router, while a few addresses cannot use up the open files of the process.
CONNECTIONS_OF_AN_ADDRESS = 256
# How long the rest of a refused body is read, so that its sender can receive the answer.
LINGERING_SECONDS = 5.0
# Time for requests in progress after the drain; aiohttp's default is a minute.
SHUTDOWN_SECONDS = 5.0
# Arguments of aiohttp's RequestHandler.
CONNECTION_OPTIONS = {
    "access_log": None,
    "auto_decompress": False,  # aiohttp would unpack gigabytes on the loop, even of a refused body
    "keepalive_timeout": KEEPALIVE_SECONDS,
    "lingering_time": LINGERING_SECONDS,
}


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
    app[KEPT_BOOKS] = KeptAnswers[KeptBook](MAX_BOOK_BYTES)
    app[KEPT_LISTS] = KeptAnswers[KeptList](MAX_LIST_BYTES)
    app[keys.LINES] = RequestLines()
    app[GAUGES] = Gauges(services)
    app[keys.REREAD_BOOK] = whole_book
    app[keys.NOT_FOUND] = pages.not_found
    app[keys.DOCUMENT] = lambda: _document(tuple(routes), services.site.public_url)
    return app


def build_probes(services: Services) -> web.Application:
    """The application of a process that answers no requests: probes and metrics only."""
    return build_app(services, (), OPERATION)


def _document(routes: tuple[Route, ...], public_url: str) -> bytes:
    from bookgen.http.docs import openapi  # slow to import, and only this document needs it

    return openapi.encoded(routes, public_url)


class BoundedRunner(web.AppRunner):
    """aiohttp's runner with a `BoundedServer` for the connections of its sites.

    The runner's own server only routes requests.
    """

    def __init__(self, app: web.Application) -> None:
        super().__init__(app, handle_signals=False)
        self._bounded: BoundedServer | None = None

    @property
    def server(self) -> web.Server | None:
        """The factory of connections for accepted sockets; None before `setup`."""
        return self._bounded

    async def setup(self) -> None:
        await super().setup()
        inner = cast(web.Server, super().server)  # None only before `setup`
        counts = ConnectionCounts(self.app[keys.SERVICES].site.trusted_proxies, CONNECTIONS_OF_AN_ADDRESS)
        self._bounded = BoundedServer(self.app, inner, counts, HEAD_SECONDS, CONNECTION_OPTIONS)

    async def shutdown(self) -> None:
        """Close the connections. `cleanup` calls this once the sites accept no more."""
        await super().shutdown()
        if self._bounded is not None:
            self._bounded.pre_shutdown()
            await self._bounded.shutdown(SHUTDOWN_SECONDS)


def _bind(app: web.Application, prefix: str, route: Route) -> Iterable[web.AbstractRoute]:
    path = prefix + route.pattern
    yield app.router.add_route(route.method, path, route.handler)
    if route.method == "GET" and not route.once:
        yield app.router.add_route("HEAD", path, route.handler)
