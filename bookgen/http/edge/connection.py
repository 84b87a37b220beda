"""Limits below the middleware: too many connections of an address, and slow, fragmented or malformed requests.

A malformed request gets an error response in the usual form. In the other cases the connection is closed. aiohttp has
no settings for these limits, so the classes below override public but undocumented methods of its `RequestHandler`
(`connection_made`, `connection_lost`, `data_received`, `finish_response`, `handle_error`) and the `__call__` of its
`Server`. This works with aiohttp 3.14.4 and 3.14.5; `tests/http/edge/test_floods.py` checks it.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Mapping
from contextlib import nullcontext
from http import HTTPStatus
from itertools import islice
from typing import Any, cast

from aiohttp import web

from bookgen import metrics
from bookgen.errors import BookgenError, CallerLeft, InvalidInput
from bookgen.http.edge import access_log, bodies, clients, errors, headers
from bookgen.http.edge.connection_counts import ConnectionCounts
from bookgen.http.edge.keys import ACCOUNT_ID, OUTGOING, REQUEST_ID, SERVICES, VERDICT
from bookgen.http.edge.large_answers import LARGE, MAX_PIECE_BYTES, MAX_RESPONSE_BYTES, InPieces
from bookgen.http.edge.middleware import request_id
from bookgen.rate_limits import LimitClass

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
# A client that reads an answer more slowly than this is disconnected. Answers below LARGE_ANSWER have no time limit,
# because they fit into the socket's buffers.
GRACE_SECONDS = 30.0
BYTES_A_SECOND = 8 * 1024
LARGE_ANSWER = 64 * 1024
MAX_SECONDS = 900.0  # for an answer of any size

# A chunk of a few bytes costs as much to parse as a long one. A read full of such chunks, which no real client sends,
# would block the event loop. The quantifiers are possessive, so no byte is read twice.
TINY_CHUNK = re.compile(rb"\r\n0*+[1-3]?[0-9a-fA-F](?:[ \t;][^\r\n]*+)?\r\n")
MAX_TINY_CHUNKS = 1000
MIN_CHECKED_BYTES = 6 * MAX_TINY_CHUNKS  # fewer bytes cannot hold so many chunks


class BoundedRunner(web.AppRunner):
    """aiohttp's AppRunner, but with a `BoundedServer`, which accepts the connections and enforces the limits.

    The server that AppRunner creates accepts no connections. It only handles the requests that `BoundedServer` reads.
    """

    def __init__(self, app: web.Application) -> None:
        super().__init__(app)
        self._bounded: BoundedServer | None = None

    @property
    def server(self) -> web.Server | None:
        """What creates a connection object for each accepted socket; None before `setup`."""
        return self._bounded

    async def setup(self) -> None:
        await super().setup()
        inner = cast(web.Server, super().server)  # None only before `setup`
        counts = ConnectionCounts(self.app[SERVICES].site.trusted_proxies, CONNECTIONS_OF_AN_ADDRESS)
        self._bounded = BoundedServer(self.app, inner, counts, HEAD_SECONDS, CONNECTION_OPTIONS)

    async def shutdown(self) -> None:
        """Close the connections. aiohttp's `cleanup` calls this after it has stopped accepting connections."""
        await super().shutdown()
        if self._bounded is not None:
            self._bounded.pre_shutdown()
            await self._bounded.shutdown(SHUTDOWN_SECONDS)


class BoundedServer(web.Server):
    """Accepts connections, each a `BoundedConnection`, and passes their requests to `inner`, aiohttp's own server.

    A connection is closed if the headers of its first request do not arrive within `head_seconds`.
    """

    def __init__(
        self,
        app: web.Application,
        inner: web.Server,
        counts: ConnectionCounts,
        head_seconds: float,
        options: Mapping[str, Any],
    ) -> None:
        super().__init__(self._answer, request_factory=self._begin)
        self._app = app
        self._inner = inner
        self._counts = counts
        self._head_seconds = head_seconds
        self._options = options

    def __call__(self) -> web.RequestHandler:
        loop = asyncio.get_running_loop()
        connection = BoundedConnection(self, self._app, self._counts, loop=loop, **self._options)
        connection.head_deadline = loop.call_later(self._head_seconds, connection.cut)
        return connection

    def _begin(self, message: Any, payload: Any, connection: Any, *rest: Any) -> web.BaseRequest:
        """Create the request object after the headers have arrived, and cancel their deadline."""
        connection.head_deadline.cancel()
        return self._inner.request_factory(message, payload, connection, *rest)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._inner.request_handler(request)
        except (web.HTTPExpectationFailed, UnicodeEncodeError):
            # aiohttp handles Expect before the middleware, and its answer would repeat text that it cannot encode.
            request[REQUEST_ID] = request_id(request)
            error = InvalidInput(non_field_errors=["The only supported Expect value is 100-continue."])
            return _refusal(request, error, self._app)


class BoundedConnection(web.RequestHandler):
    """A connection that is counted for its address, and closed at once if the address has too many connections.

    `head_deadline` closes the connection if the headers of the first request do not arrive in time. Without it, aiohttp
    would wait until its keep-alive timeout, which is much longer.
    """

    __slots__ = ("_app", "_called_off", "_counted_as", "_counts", "head_deadline", "lost")
    head_deadline: asyncio.TimerHandle

    def __init__(self, server: BoundedServer, app: web.Application, counts: ConnectionCounts, **options: Any) -> None:
        super().__init__(server, **options)
        self._app = app
        self._counts = counts
        self._counted_as: str | None = None
        self._called_off: asyncio.Task[Any] | None = None
        self.lost = asyncio.Event()

    def call_off(self, task: asyncio.Task[Any] | None) -> None:
        """Cancel `task` if the caller disconnects. `task` replaces the task of an earlier call; None: cancel nothing.

        The task must not change data, since it may be cancelled halfway. Raises CallerLeft if a task is given but the
        caller has already disconnected.
        """
        if task is not None and self.lost.is_set():
            raise CallerLeft
        self._called_off = task

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        metrics.OPEN_CONNECTIONS.inc()
        peer = transport.get_extra_info("peername")  # empty for a local socket
        self._counted_as = self._counts.enter(peer[0]) if peer else None
        if self._counted_as is not None and self._counts.is_full(self._counted_as):
            metrics.CROWDED_OUT.inc()
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self.lost.set()
        self.head_deadline.cancel()
        if self._called_off is not None:
            self._called_off.cancel()
        metrics.OPEN_CONNECTIONS.dec()
        if self._counted_as is not None:
            self._counts.leave(self._counted_as)

    def data_received(self, data: bytes) -> None:
        if len(data) > MIN_CHECKED_BYTES and _is_in_tiny_chunks(data):
            self.cut()
        else:
            super().data_received(data)

    def cut(self) -> None:
        """Close the connection at once, even during a request."""
        if self.transport is not None:
            self.transport.abort()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the response. If the caller reads a large one too slowly, close the connection to free its memory."""
        size, held = _sizes(resp)
        if size < LARGE_ANSWER:
            return await super().finish_response(request, resp, start_time)
        account_id = request.get(ACCOUNT_ID)
        sending = nullcontext() if account_id is None else self._app[OUTGOING].sending(account_id, held)
        try:
            with sending:
                async with asyncio.timeout(min(MAX_SECONDS, GRACE_SECONDS + size / BYTES_A_SECOND)):
                    return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            self.cut()
            return resp, True

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        super().handle_error(request, status, exc, message)  # logs the error and aborts an answer that has started
        request[REQUEST_ID] = request_id(request)
        error = (
            BookgenError(
                "An unexpected error occurred. Report the request id if it keeps happening.",
                request_id=request[REQUEST_ID],
            )
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR
            else InvalidInput(non_field_errors=[errors.UNREADABLE])
        )
        response = _refusal(request, error, self._app)
        response.force_close()
        return response


def _is_in_tiny_chunks(data: bytes) -> bool:
    return sum(1 for _ in islice(TINY_CHUNK.finditer(data), MAX_TINY_CHUNKS + 1)) > MAX_TINY_CHUNKS


def _sizes(response: web.StreamResponse) -> tuple[int, int]:
    """The largest possible size of a response, and how much of it is in memory during sending; both in bytes.

    This also replaces a large body by a stream, so that aiohttp writes it to the socket in parts. Copying the whole
    body would block the event loop.
    """
    if type(response) is not web.Response:
        return (MAX_RESPONSE_BYTES, MAX_PIECE_BYTES) if isinstance(response, InPieces) else (bodies.MAX_BYTES,) * 2
    size = response.content_length or 0
    if isinstance(response.body, bytes) and size > LARGE:
        response.headers["Content-Length"] = str(size)
        response.body = io.BytesIO(response.body)
    return size, size


def _refusal(request: web.BaseRequest, error: BookgenError, app: web.Application) -> web.Response:
    """The error response to a request that does not reach the middleware.

    The request is logged, and counted against the rate limit, like any other.
    """
    request[VERDICT] = app[SERVICES].limiter.take_of_address(LimitClass.PUBLIC, clients.address(request, app))
    response = errors.envelope(error, app[SERVICES].site.public_url)
    headers.add_to(response, request, app)
    access_log.record(request, None, response, 0.0, None)
    return response
