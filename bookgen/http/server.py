"""Builds the aiohttp application: services, middleware, both prefixes, the slash rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from aiohttp import web

from bookgen.http.answers.kept import (
    KEPT_BOOKS,
    KEPT_LISTS,
    MAX_BOOK_BYTES,
    MAX_LIST_BYTES,
    KeptAnswers,
    KeptBook,
    KeptList,
)
from bookgen.http.edge import bodies, keys
from bookgen.http.edge.connection import BoundedServer
from bookgen.http.edge.connection_counts import ConnectionCounts
from bookgen.http.edge.contract import Endpoint
from bookgen.http.edge.keys import Services
from bookgen.http.edge.lines import RequestLines
from bookgen.http.edge.middleware import TABLE, edge
from bookgen.http.edge.pieces import Outgoing
from bookgen.http.edge.routing import Route
from bookgen.http.edge.waiting import Waiters
from bookgen.http.routes import OUTSIDE, ROUTES

PREFIXES = ("/api/v1", "/api")

HEAD_SECONDS = 15.0
KEEPALIVE_SECONDS = 30.0
# A client library's pool holds 100 (aiohttp, httpx) and a browser opens 6: room for several of either behind one
# router, while a few addresses can't use up the files that a process may have open.
CONNECTIONS_OF_AN_ADDRESS = 256
# How long the rest of a body that was refused is read, so that its sender hears the answer.
LINGERING_SECONDS = 5.0
# What is still being answered when the drain is over gets this long; aiohttp's default is a minute.
SHUTDOWN_SECONDS = 5.0
# Arguments of aiohttp's RequestHandler.
CONNECTION_OPTIONS = {
    "access_log": None,
    "auto_decompress": False,  # aiohttp would unpack gigabytes on the loop, also of a body that is refused
    "keepalive_timeout": KEEPALIVE_SECONDS,
    "lingering_time": LINGERING_SECONDS,
}


def build_app(services: Services, routes: Sequence[Route] = ROUTES) -> web.Application:
    app = web.Application(middlewares=[edge], client_max_size=bodies.MAX_BYTES)
    app[keys.SERVICES] = services
    app[keys.UNKNOWN_PROXIES] = set()
    table: dict[web.AbstractRoute, Endpoint] = {}
    # The router tries a path's patterns in their order: what is polled comes first.
    for prefix in PREFIXES:
        for route in sorted(routes, key=lambda route: not route.quiet):
            for bound in _bind(app, prefix, route):
                table[bound] = Endpoint.of(route)
    for route in OUTSIDE:
        for bound in _bind(app, "", route):
            table[bound] = Endpoint.of(route)
    app[TABLE] = table
    app[keys.WAITING] = Waiters()
    app[keys.OUTGOING] = Outgoing()
    app[KEPT_BOOKS] = KeptAnswers[KeptBook](MAX_BOOK_BYTES)
    app[KEPT_LISTS] = KeptAnswers[KeptList](MAX_LIST_BYTES)
    app[keys.LINES] = RequestLines()
    app[keys.DOCUMENT] = lambda: _document(tuple(routes), services.site.public_url)
    return app


def _document(routes: tuple[Route, ...], public_url: str) -> bytes:
    from bookgen.http.docs import openapi  # apispec's generator, which no other request needs

    return openapi.encoded(routes, public_url)


class BoundedRunner(web.AppRunner):
    """aiohttp's runner, whose sites take connections through a `BoundedServer`.

    The runner's own server routes requests and makes no connections.
    """

    def __init__(self, app: web.Application) -> None:
        super().__init__(app, handle_signals=False)
        self._bounded: BoundedServer | None = None

    @property
    def server(self) -> web.Server | None:
        """What makes a connection for each socket that a site accepts; None before `setup`."""
        return self._bounded

    async def setup(self) -> None:
        await super().setup()
        inner = cast(web.Server, super().server)  # None only before `setup`
        counts = ConnectionCounts(self.app[keys.SERVICES].site.trusted_proxies, CONNECTIONS_OF_AN_ADDRESS)
        self._bounded = BoundedServer(self.app, inner, counts, HEAD_SECONDS, CONNECTION_OPTIONS)

    async def shutdown(self) -> None:
        """Called by `cleanup` once the sites accept no more connections."""
        await super().shutdown()
        if self._bounded is not None:
            self._bounded.pre_shutdown()
            await self._bounded.shutdown(SHUTDOWN_SECONDS)


def _bind(app: web.Application, prefix: str, route: Route) -> Iterable[web.AbstractRoute]:
    path = prefix + route.pattern
    yield app.router.add_route(route.method, path, route.handler)
    if route.method == "GET" and not route.once:
        yield app.router.add_route("HEAD", path, route.handler)
