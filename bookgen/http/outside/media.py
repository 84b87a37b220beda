"""Pictures, at unguessable URLs. Their contents never change, so they can be cached forever."""

from __future__ import annotations

import re
from http import HTTPStatus

from aiohttp import web

from bookgen import errors
from bookgen.http.edge.contract import file_response
from bookgen.http.edge.keys import SERVICES
from bookgen.store import media

JPEG = "image/jpeg"
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")  # anything else is not looked up
# Applications on other origins may show the pictures: their URLs cannot be guessed.
_FOR_EVERY_PAGE = {"Cross-Origin-Resource-Policy": "cross-origin"}
_FOR_EVER = "public, max-age=31536000, immutable"


@file_response(JPEG, "The JPEG, which never changes")
async def show(request: web.Request) -> web.Response:
    key = request.match_info["key"]
    if not _KEY.fullmatch(key):
        raise errors.no_such("picture")
    db, tag = request.app[SERVICES].database.http, f'"{key}"'
    headers = {"ETag": tag, "Cache-Control": _FOR_EVER, "Accept-Ranges": "bytes", **_FOR_EVERY_PAGE}
    if tag in (each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")):
        if not await media.exists(db, key):
            raise errors.no_such("picture")
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    body = errors.must_exist(await request.app[SERVICES].files.picture(db, key), "picture")
    headers["Content-Type"] = JPEG
    part = _part(request, len(body), tag)
    if part is None:
        return web.Response(body=body, headers=headers)
    if part.start >= len(body):
        headers["Content-Range"] = f"bytes */{len(body)}"
        return web.Response(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(body)}"
    return web.Response(status=HTTPStatus.PARTIAL_CONTENT, body=body[part.start : part.stop], headers=headers)


def _part(request: web.Request, length: int, tag: str) -> range | None:
    """The byte range to send; None to send the whole picture. `length`, `tag`: the picture's size and ETag.

    Returns None if the request has no range or an invalid one, or if its If-Range has another ETag. The returned range
    may begin beyond the end of the picture.
    """
    if request.headers.get("If-Range", tag) != tag:
        return None
    try:
        asked = request.http_range
    except ValueError:
        return None
    if asked.start is None and asked.stop is None:
        return None
    start = asked.start or 0
    if start < 0:
        return range(max(0, length + start), length)
    return range(start, min(asked.stop or length, length))
