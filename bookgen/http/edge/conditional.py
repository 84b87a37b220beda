"""Answers that the caller already has: ETag, If-None-Match, 304."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from aiohttp import web

_SMALL = 8192
_KEPT = ("ETag", "Cache-Control")


def unless_known(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """The answer with its tag, or 304 without a body when the caller's own tag is the same."""
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes):
        return response
    response.headers["ETag"] = tag = _tag(response.body)
    given = request.headers.get("If-None-Match")
    if given is None or not _names(given, tag):
        return response
    return web.Response(
        status=304, headers={name: response.headers[name] for name in _KEPT if name in response.headers}
    )


def _names(given: str, tag: str) -> bool:
    """Compared weakly, as RFC 9110 asks: a cache or a compressing proxy on the way may have put W/ before it."""
    return given.strip() == "*" or tag in (each.strip().removeprefix("W/") for each in given.split(","))


def _tag(body: bytes) -> str:
    return _digest_of_small(body) if len(body) < _SMALL else _digest(body)


def _digest(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=16).hexdigest()}"'


# A polled status is the same bytes object until it changes.
_digest_of_small = lru_cache(maxsize=4096)(_digest)
