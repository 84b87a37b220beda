"""A bound on connections that never finish saying what they want."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web


class HeadDeadline:
    """Cuts a connection off whose first request head is not whole in time.

    aiohttp bounds that wait only by the keep-alive, which is longer than any head takes.
    """

    def __init__(self, server: web.Server, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        self._opened, self._closed, self._made = server.connection_made, server.connection_lost, server.request_factory
        server.connection_made = self._on_opened  # type: ignore[method-assign]
        server.connection_lost = self._on_closed  # type: ignore[method-assign]
        server.request_factory = self._on_request

    def _on_opened(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        self._waiting[handler] = loop.call_later(self._seconds, self._cut, handler, transport)
        self._opened(handler, transport)

    def _on_request(self, message: Any, payload: Any, protocol: web.RequestHandler, *rest: Any) -> web.BaseRequest:
        self._in_time(protocol)
        return self._made(message, payload, protocol, *rest)

    def _on_closed(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        self._in_time(handler)
        self._closed(handler, exc)

    def _in_time(self, handler: web.RequestHandler) -> None:
        if timer := self._waiting.pop(handler, None):
            timer.cancel()

    def _cut(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        self._waiting.pop(handler, None)
        transport.abort()
