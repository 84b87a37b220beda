"""`GET /metrics`, for callers on this machine or with the operator's token."""

from __future__ import annotations

import hmac
import re

from aiohttp import HttpVersion11, web

from bookgen.errors import NoSuchPath
from bookgen.http.edge import clients, hosts
from bookgen.http.edge.keys import SERVICES
from bookgen.http.outside.gauges import GAUGES
from bookgen.metrics import CONTENT_TYPE_LATEST, exposition

# The headers by which proxies name the client or themselves.
_FORWARDING = re.compile(
    r"forwarded|via|x-forwarded-.*|x-original-.*|x-real-ip|x-proxy.*|x-envoy-.*|x-amzn-trace-id|.*client-ip"
    r"|.*connecting-ip",
    re.I,
)


async def metrics(request: web.Request) -> web.Response:
    """The metrics. Raises NotFound unless the caller is on this machine or has the operator's token.

    A request from a proxy on this machine does not count as local.
    """
    if not (_is_local(request) or _has_token(request)):
        raise NoSuchPath
    await request.app[GAUGES].refresh()
    return web.Response(body=exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _is_local(request: web.Request) -> bool:
    """Whether the caller is on this machine, and is not a proxy that forwards a request from elsewhere.

    A proxy that adds no header is recognized by its trusted address, by HTTP/1.0 (nginx's default), or by the public
    host name that it passes on.
    """
    peer = request.remote or ""
    if not hosts.is_loopback(peer) or clients.is_proxy(peer, request.app[SERVICES].site.trusted_proxies):
        return False
    if request.version < HttpVersion11 or any(_FORWARDING.fullmatch(name) for name in request.headers):
        return False
    return hosts.is_loopback(hosts.name_of(request.headers.get("Host", "")))


def _has_token(request: web.Request) -> bool:
    token = request.app[SERVICES].site.metrics_token
    given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
    return bool(token) and hmac.compare_digest(given, f"Bearer {token}".encode())
