"""Responses to requests that match no route: a redirect to the path with a slash, CORS preflight, 404 and 405."""

from __future__ import annotations

from aiohttp import web

from bookgen.http.edge import cors
from bookgen.http.edge.keys import NOT_FOUND, SERVICES

PREFIX = "/api/"


async def answer(request: web.Request) -> web.StreamResponse:
    """A redirect to the path with a slash, the response to a CORS preflight, or a 404 page for a browser.

    Otherwise raises HTTPNotFound for an unknown path, or HTTPMethodNotAllowed if the path does not have this method.
    """
    refusal = request.match_info.http_exception or web.HTTPNotFound()
    if isinstance(refusal, web.HTTPMethodNotAllowed) and _is_preflight(request):
        return web.Response(status=204, headers=cors.preflight(refusal.allowed_methods))
    if await _exists_with_slash(request):
        return web.Response(status=301, headers={"Location": _with_slash(request)})
    if isinstance(refusal, web.HTTPNotFound) and _is_for_people(request):
        return await request.app[NOT_FOUND](request)
    raise refusal


def _is_for_people(request: web.Request) -> bool:
    """Whether a browser asks for a page outside the API, so that a 404 should be an HTML page."""
    is_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", "")
    return is_page and not request.path.startswith(PREFIX) and request.app[SERVICES].site.console


def _with_slash(request: web.Request) -> str:
    query = f"?{request.rel_url.raw_query_string}" if request.query_string else ""
    return f"{request.app[SERVICES].site.root}{request.rel_url.raw_path}/{query}"


def _is_preflight(request: web.Request) -> bool:
    return (
        request.method == "OPTIONS"
        and "Access-Control-Request-Method" in request.headers
        and request.headers.get("Origin") in request.app[SERVICES].site.allowed_origins
    )


async def _exists_with_slash(request: web.Request) -> bool:
    """Whether the path would be a route of the API with a slash at its end.

    Only paths under /api/ count, so that a path such as `//example.com` cannot cause a redirect to another host.
    """
    path = request.rel_url.raw_path
    if not f"{path}/".startswith(PREFIX) or path.endswith("/"):
        return False
    slashed = request.clone(rel_url=request.rel_url.with_path(path + "/", encoded=True))
    found = await request.app.router.resolve(slashed)
    return found.http_exception is None or isinstance(found.http_exception, web.HTTPMethodNotAllowed)
