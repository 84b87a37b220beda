"""Stripe's protocol: bracketed forms as input, JSON as output, idempotency keys, error objects, lists, expansion."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FORM: web.RequestKey[dict[str, Any]] = web.RequestKey("form")
STRIPE_VERSION = "2026-10-28.endive"


class Wire:
    """Recorded requests, faults to inject, and the responses that idempotency keys replay.

    A fault is a status, "drop" (the connection closes before the call has an effect), "lose" (the call has its effect,
    but the response is lost), or an asyncio.Event that delays the finished response until it is set.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.keys: list[str] = []
        self.faults: deque[int | str | asyncio.Event | None] = deque()
        self.holding = asyncio.Event()
        self._answers: dict[str, tuple[str, dict[str, Any], int, str]] = {}

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith("/v1/"):
            return await handler(request)
        if not request.headers.get("Authorization", "").startswith("Bearer sk_test_"):
            return error("Invalid API Key provided", 401)
        request[FORM] = decoded((await request.post()).items() if request.method == "POST" else request.query.items())
        self.calls.append((request.method, request.path, request[FORM]))
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, int):
            return error("injected", fault)
        if fault == "drop":
            return self._hang_up(request)
        response = await self._once(request, handler)
        if isinstance(fault, asyncio.Event):
            self.holding.set()
            await fault.wait()
        return self._hang_up(request) if fault == "lose" else response

    def forget(self) -> None:
        self.calls.clear()
        self.keys.clear()
        self._answers.clear()

    async def _once(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        key = request.headers.get("Idempotency-Key")
        if key is None or request.method != "POST":
            return await handler(request)
        self.keys.append(key)
        if key in self._answers:
            path, form, status, text = self._answers[key]
            if (path, form) != (request.path, request[FORM]):
                return error("Keys for idempotent requests can only be used with the same parameters", 400,
                             type="idempotency_error")  # fmt: skip
            return web.Response(status=status, text=text, content_type="application/json")
        response = await handler(request)
        assert isinstance(response, web.Response)
        if response.status < 500:
            self._answers[key] = (request.path, request[FORM], response.status, response.text or "")
        return response

    def _hang_up(self, request: web.Request) -> web.Response:
        if request.transport:
            request.transport.close()
        return web.Response()


def error(message: str, status: int, *, type: str | None = None, **fields: Any) -> web.Response:
    kinds = {
        401: "invalid_request_error",
        402: "card_error",
        400: "invalid_request_error",
        404: "invalid_request_error",
    }
    body = {"error": {"type": type or kinds.get(status, "api_error"), "message": message, **fields}}
    retry = {"Stripe-Should-Retry": "true"} if status in (409, 429, 500, 503) else {}
    return web.json_response(body, status=status, headers=retry)


def missing(kind: str, name: str, param: str = "id") -> web.Response:
    """The error for a missing object: 404 if the path names it, 400 if a parameter does."""
    return error(f"No such {kind}: '{name}'", 404 if param == "id" else 400, code="resource_missing", param=param)


def page(url: str, newest_first: Iterable[Mapping[str, Any]], query: Mapping[str, Any]) -> web.Response:
    """A list object: at most `limit` rows, starting after `starting_after`. Stripe lists at most 100 at once."""
    rows = list(newest_first)
    after = query.get("starting_after")
    if after:
        rows = rows[[row["id"] for row in rows].index(after) + 1 :]
    limit = int(query.get("limit", 10))
    if not 1 <= limit <= 100:
        return error(f"This value must be between 1 and 100 (it currently is '{limit}').", 400, param="limit")
    return web.json_response({"object": "list", "url": url, "data": rows[:limit], "has_more": len(rows) > limit})


def decoded(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Decode a form: `line_items[0][price]=p` becomes `{"line_items": [{"price": "p"}]}`."""
    root: dict[str, Any] = {}
    for name, value in pairs:
        *path, last = [part for part in re.split(r"[\[\]]+", name) if part]
        inner = root
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    tidy: dict[str, Any] = _lists(root)
    return tidy


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(inner) for key, inner in value.items()}
