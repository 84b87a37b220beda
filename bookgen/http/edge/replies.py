"""JSON responses, with times in the format of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC
JSON = "application/json"


def dump(value: Any) -> bytes:
    """The value as JSON. Times are ISO 8601 in UTC and end in Z; decimals are strings."""
    return orjson.dumps(value, default=str, option=_OPTIONS)


def json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return encoded(dump(value), status=status, headers=headers)


def encoded(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A response with a body that is JSON bytes already."""
    return web.Response(body=body, status=status, headers={"Content-Type": JSON, **(headers or {})})


def nothing() -> web.Response:
    return web.Response(status=204)
