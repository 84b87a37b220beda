"""Conditional requests: ETag, If-None-Match and If-Match."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from bookgen.errors import Conflict
from bookgen.http.edge.large_answers import InPieces, tag_of
from bookgen.http.edge.routing import Handler

_MINIMAL = '-minimal"'
_KEPT = ("Cache-Control", "Preference-Applied")
READS = ("GET", "HEAD")
CHANGED = (
    "The resource has changed since you read it, or If-Match has the ETag of a different one. Read the resource again, "
    "then send your change with its new ETag."
)


class IfNoneMatch:
    """The If-None-Match of a request: it tells whether the caller already has the answer.

    Only for GET and HEAD; other methods always get the full answer. `tag`: the ETag that was compared last.
    """

    def __init__(self, request: web.BaseRequest) -> None:
        # The answer to a change is never 304, because the caller has to learn that the change took effect.
        self._given = request.headers.get("If-None-Match") if request.method in READS else None
        self.tag = ""

    def matches_body(self, body: bytes) -> bool:
        """Whether the caller has this body already. Sets `tag` to the ETag of the body."""
        return self.matches(tag_of(body))

    def matches(self, tag: str) -> bool:
        """Whether the caller has the answer with this ETag already. Stores the ETag in `self.tag`."""
        self.tag = tag
        return self._given is not None and _matches(self._given, tag)

    def answer(self, headers: Mapping[str, str]) -> web.Response:
        """The response to a caller that has the answer already: 304 without a body. `headers`: those of the answer."""
        kept = {name: headers[name] for name in _KEPT if name in headers}
        return web.Response(status=304, headers={"ETag": self.tag, **kept})


def or_not_modified(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """The answer with its ETag, or 304 without a body if If-None-Match has the same ETag."""
    condition = IfNoneMatch(request)
    match response:
        case _ if "ETag" in response.headers:
            return response  # the handler has compared the tags
        case InPieces(tag=tag):
            has = condition.matches(tag)
        case web.Response(body=bytes() as body):
            has = condition.matches_body(body)
        case _:
            return response
    if has:
        return condition.answer(response.headers)
    response.headers["ETag"] = condition.tag
    return response


async def require_expected(request: web.Request, read: Handler) -> None:
    """Raise Conflict if the request has an If-Match that does not match the current ETag of the resource.

    `read`: the handler whose answer to this request has that ETag.
    """
    if "If-Match" not in request.headers:
        return
    response = await read(request)
    if not _is_expected(request, tag_of_response(response)):
        raise Conflict(CHANGED)


def tag_of_response(response: web.StreamResponse) -> str:
    """The ETag that the answer has already, or that the middleware will give it."""
    match response:
        case _ if "ETag" in response.headers:
            return response.headers["ETag"]
        case InPieces(tag=tag):
            return tag
        case web.Response(body=bytes() as body):
            return tag_of(body)
    raise TypeError("This response has no body to compute an ETag from.")


def minimal_tag(tag: str) -> str:
    """The ETag of an answer's minimal form (`Prefer: return=minimal`). `tag`: the ETag of the full answer.

    If-Match accepts either ETag. If-None-Match compares exactly, so a cache never mixes the two forms up.
    """
    return f"{tag[:-1]}{_MINIMAL}"


def is_expected(request: web.Request, body: bytes) -> bool:
    """Whether If-Match is missing or names the ETag of an answer with this body."""
    return _is_expected(request, tag_of(body))


def _is_expected(request: web.Request, tag: str) -> bool:
    """Whether If-Match is missing or names `tag`, by RFC 9110's strong comparison: a weak tag (`W/…`) never matches."""
    given = request.headers.get("If-Match")
    return (
        given is None
        or given.strip() == "*"
        or tag in (each.strip().replace(_MINIMAL, '"') for each in given.split(","))
    )


def _matches(given: str, tag: str) -> bool:
    """Whether `given`, the value of If-None-Match, names `tag`. A `W/`, which caches and proxies add, is ignored."""
    return given.strip() == "*" or tag in (each.strip().removeprefix("W/") for each in given.split(","))
