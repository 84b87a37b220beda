"""Where a request comes from."""

from __future__ import annotations

from aiohttp import web

from bookgen.http.edge.keys import SITE
from bookgen.limits import client_address


def address(request: web.BaseRequest, app: web.Application) -> str:
    """The socket's peer, or what a trusted proxy says of it."""
    trusted = app[SITE].trusted_proxies
    if not trusted:
        return request.remote or ""
    # Of a request that could not be read aiohttp has no headers, and an empty dict in their place.
    forwarded = request.headers.getall("X-Forwarded-For", ()) if request.headers else ()
    return client_address(request.remote, forwarded, trusted)
