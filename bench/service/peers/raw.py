"""Plain aiohttp and asyncpg: the minimum cost of this stack. Also serves `hello`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import jwt
import orjson
import uvloop
from aiohttp import web

from bench.service.peers.common import BOOK, CHAPTERS, CONNECTIONS, DSN, LIST, SAVE, SECRET, STATUS, status_body, take

POOL: web.AppKey[asyncpg.Pool] = web.AppKey("pool", asyncpg.Pool)
REALM = {"WWW-Authenticate": 'Bearer realm="api"'}
HELLO = orjson.dumps({"hello": "world"})


async def hello(_request: web.Request) -> web.Response:
    return web.Response(body=HELLO, content_type="application/json")


async def status(request: web.Request) -> web.Response:
    user, headers = _enter(request)
    row = await request.app[POOL].fetchrow(STATUS, int(request.match_info["id"]), user)
    if row is None:
        raise web.HTTPNotFound
    return _answer(status_body(row, orjson.loads(row["outline"])), headers)


async def books(request: web.Request) -> web.Response:
    user, headers = _enter(request)
    return _answer([dict(row) for row in await request.app[POOL].fetch(LIST, user)], headers)


async def book(request: web.Request) -> web.Response:
    user, headers = _enter(request)
    book_id = int(request.match_info["id"])
    async with request.app[POOL].acquire() as connection:
        found = await connection.fetchrow(BOOK, book_id, user)
        if found is None:
            raise web.HTTPNotFound
        chapters = [dict(row) for row in await connection.fetch(CHAPTERS, book_id)]
    return _answer({**found, "chapters": chapters}, headers)


async def save(request: web.Request) -> web.Response:
    user, headers = _enter(request)
    changes = orjson.loads(await request.read())
    chapter_id = int(request.match_info["id"])
    row = await request.app[POOL].fetchrow(SAVE, chapter_id, user, changes.get("title"), changes.get("content"))
    if row is None:
        raise web.HTTPNotFound
    return _answer(dict(row), headers)


def _enter(request: web.Request) -> tuple[int, dict[str, str]]:
    """Authenticate and rate-limit. Returns the caller and the headers of the response."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Bearer":
        raise web.HTTPUnauthorized(headers=REALM)
    try:
        user = jwt.decode(token, SECRET, algorithms=["HS256"])["user_id"]
    except jwt.PyJWTError:
        raise web.HTTPUnauthorized(headers=REALM) from None
    try:
        return user, take(user)
    except KeyError:
        raise web.HTTPTooManyRequests from None


def _answer(body: Any, headers: dict[str, str]) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json", headers=headers)


async def _pool(app: web.Application) -> AsyncIterator[None]:
    async with asyncpg.create_pool(DSN, min_size=CONNECTIONS, max_size=CONNECTIONS) as app[POOL]:
        yield


def main() -> None:
    app = web.Application()
    app.cleanup_ctx.append(_pool)
    app.router.add_get("/hello", hello)
    app.router.add_get("/api/v1/books/{id}/generation-status/", status)
    app.router.add_get("/api/v1/books/", books)
    app.router.add_get("/api/v1/books/{id}/", book)
    app.router.add_patch("/api/v1/chapters/{id}/", save)
    uvloop.install()
    web.run_app(app, host="127.0.0.1", port=int(os.environ["PORT"]), access_log=None, print=None)


if __name__ == "__main__":
    main()
