"""Health and readiness probes, for the supervisor that restarts the process, and for a load balancer."""

from __future__ import annotations

import asyncpg
from aiohttp import web

from bookgen import __version__
from bookgen.errors import Unavailable
from bookgen.http.edge import replies
from bookgen.http.edge.keys import SERVICES


async def alive(request: web.Request) -> web.Response:
    return replies.json({"status": "ok", "version": __version__})


async def ready(request: web.Request) -> web.Response:
    """200 if this process can take requests. Otherwise raises Unavailable, such as during startup.

    While the disk is almost full, the status is `read-only`, still with 200: a load balancer must not remove the
    server, since it can still answer reads.
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
