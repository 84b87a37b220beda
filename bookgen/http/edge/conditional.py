"""Answers that the caller already has, and changes to what the caller has read: ETag, If-None-Match, If-Match."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from aiohttp import web

from bookgen.http.edge.pieces import InPieces, tag_of

_SMALL = 8192
_KEPT = ("Cache-Control", "Preference-Applied")


class Known:
    """What the caller has already, by its tag."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._given = request.headers.get("If-None-Match")
        self.tag = ""

    def __call__(self, body: bytes) -> bool:
        """Whether the caller has this very body; `tag` is that body's from now on."""
        return self.by_tag(_tag(body))

    def by_tag(self, tag: str) -> bool:
        """The same of what has this tag."""
        self.tag = tag
        return self._given is not None and _names(self._given, tag)

    def answer(self, headers: Mapping[str, str]) -> web.Response:
        """304 without a body."""
        kept = {name: headers[name] for name in _KEPT if name in headers}
        return web.Response(status=304, headers={"ETag": self.tag, **kept})


def unless_known(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """The answer with its tag, or 304 without a body when the caller's own tag is the same."""
    known = Known(request)
    match response:
        case InPieces(tag=tag):
            has = known.by_tag(tag)
        case _ if "ETag" in response.headers:
            return response  # its handler has compared
        case web.Response(body=bytes() as body):
            has = known(body)
        case _:
            return response
    if has:
        return known.answer(response.headers)
    response.headers["ETag"] = known.tag
    return response


def is_expected(request: web.Request, body: bytes) -> bool:
    """Whether this is still the answer that If-Match names. RFC 9110's strong comparison would fail behind a proxy."""
    given = request.headers.get("If-Match")
    return given is None or _names(given, _tag(body))


def _names(given: str, tag: str) -> bool:
    """Compared weakly, as RFC 9110 asks: a cache or a compressing proxy on the way may have put W/ before it."""
    return given.strip() == "*" or tag in (each.strip().removeprefix("W/") for each in given.split(","))


def _tag(body: bytes) -> str:
    return _tag_of_small(body) if len(body) < _SMALL else tag_of(body)


# A polled status is the same bytes object until it changes.
_tag_of_small = lru_cache(maxsize=4096)(tag_of)
