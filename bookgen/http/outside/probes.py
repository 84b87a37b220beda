"""Health, readiness and metrics for an operator's tools."""

from __future__ import annotations

import hmac
import re

import asyncpg
from aiohttp import HttpVersion11, web

from bookgen import __version__
from bookgen.errors import NoSuchPath, Unavailable
from bookgen.http.edge import clients, hosts, replies
from bookgen.http.edge.keys import SERVICES
from bookgen.http.outside.gauges import GAUGES
from bookgen.metrics import CONTENT_TYPE_LATEST, exposition

# The headers by which proxies name the client or themselves.
_FORWARDING = re.compile(
    r"forwarded|via|x-forwarded-.*|x-original-.*|x-real-ip|x-proxy.*|x-envoy-.*|x-amzn-trace-id|.*client-ip"
    r"|.*connecting-ip",
    re.I,
)


async def alive(request: web.Request) -> web.Response:
    return replies.json({"status": "ok", "version": __version__})


async def ready(request: web.Request) -> web.Response:
    """200 if the database answers and the runs are restored. Migrations ran before the start.

    While the disk is almost full, the status is `read-only`, still with 200: the server can answer reads, so a load
    balancer must not remove it.
    """
    if reason := request.app[SERVICES].unready():
        raise Unavailable(reason, retry_after=1)
    try:
        await request.app[SERVICES].database.http.fetchval("SELECT 1", timeout=2)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        raise Unavailable("The database does not respond.") from None
    if shortage := request.app[SERVICES].shortage():
        return replies.json({"status": "read-only", "message": shortage})
    return replies.json({"status": "ready"})


async def metrics(request: web.Request) -> web.Response:
    """The metrics, for a loopback caller without a proxy or with the operator's token. NotFound otherwise."""
    if not (_is_local(request) or _has_token(request)):
        raise NoSuchPath
    await request.app[GAUGES].refresh()
    return web.Response(body=exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _is_local(request: web.Request) -> bool:
    """Whether the caller is on this machine and not a proxy that forwards someone else's request.

    A proxy that adds no header is recognized by its trusted address, by HTTP/1.0 (the default of nginx), or by the
    public host name that it passes on.
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
