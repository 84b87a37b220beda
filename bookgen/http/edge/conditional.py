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
    """The If-None-Match header of a request: it tells whether the caller already has the response.

    Only for GET and HEAD; other methods always get the full response. `tag`: the ETag that was compared last.
    """

    def __init__(self, request: web.BaseRequest) -> None:
        # The answer to a change is never 304, because the caller has to learn that the change took effect.
        self._given = request.headers.get("If-None-Match") if request.method in READS else None
        self.tag = ""

    def matches_body(self, body: bytes) -> bool:
        """Whether the caller already has this body. Stores the body's ETag in `self.tag`."""
        return self.matches(tag_of(body))

    def matches(self, tag: str) -> bool:
        """Whether the caller already has the response with this ETag. Stores the ETag in `self.tag`."""
        self.tag = tag
        return self._given is not None and _matches(self._given, tag)

    def answer(self, headers: Mapping[str, str]) -> web.Response:
        """The 304 response, without a body, for a caller that already has the response.

        `headers`: the headers of the full response, some of which are repeated.
        """
        kept = {name: headers[name] for name in _KEPT if name in headers}
        return web.Response(status=304, headers={"ETag": self.tag, **kept})


def or_not_modified(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """The response with its ETag added, or a 304 response without a body if If-None-Match has this ETag."""
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

    `read`: the handler that reads the resource. Its response to this request has the current ETag.
    """
    if "If-Match" not in request.headers:
        return
    response = await read(request)
    if not _is_expected(request, tag_of_response(response)):
        raise Conflict(CHANGED)


def tag_of_response(response: web.StreamResponse) -> str:
    """The ETag of the response. If the response has none yet, the ETag that the middleware will add."""
    match response:
        case _ if "ETag" in response.headers:
            return response.headers["ETag"]
        case InPieces(tag=tag):
            return tag
        case web.Response(body=bytes() as body):
            return tag_of(body)
    raise TypeError("This response has no body to compute an ETag from.")


def minimal_tag(tag: str) -> str:
    """The ETag of a response's minimal form (`Prefer: return=minimal`). `tag`: the ETag of the full response.

    If-Match accepts either ETag. If-None-Match accepts only the exact ETag, so a cache never mixes up the two forms.
    """
    return f"{tag[:-1]}{_MINIMAL}"


def is_expected(request: web.Request, body: bytes) -> bool:
    """Whether If-Match is missing or names the ETag of a response with this body."""
    return _is_expected(request, tag_of(body))


def _is_expected(request: web.Request, tag: str) -> bool:
    """Whether If-Match is missing or names `tag`.

    As RFC 9110 requires (strong comparison), a weak tag (`W/…`) never matches.
    """
    given = request.headers.get("If-Match")
    return (
        given is None
        or given.strip() == "*"
        or tag in (each.strip().replace(_MINIMAL, '"') for each in given.split(","))
    )


def _matches(given: str, tag: str) -> bool:
    """Whether `given`, the value of If-None-Match, names `tag`.

    A prefix `W/`, which caches and proxies add, is ignored.
    """
    return given.strip() == "*" or tag in (each.strip().removeprefix("W/") for each in given.split(","))
