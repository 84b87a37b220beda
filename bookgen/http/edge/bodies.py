"""Reading a request body once, within a deadline, as JSON."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from aiohttp import web

from bookgen.errors import InvalidInput, PayloadTooLarge

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 32
READ_SECONDS = 15.0


async def read(request: web.Request) -> bytes:
    """The raw body, at most MAX_BYTES, as it was sent: a small one may unpack to gigabytes."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise InvalidInput(non_field_errors=["Send the body without a Content-Encoding."])
    refuse_large(request)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.read()
    except TimeoutError:
        raise InvalidInput(non_field_errors=["The request body did not arrive in time."]) from None
    except web.HTTPRequestEntityTooLarge:
        raise PayloadTooLarge(limit_bytes=MAX_BYTES) from None
    except web.RequestPayloadError:
        raise InvalidInput(non_field_errors=["The request body does not end as its headers say."]) from None


def refuse_large(request: web.Request) -> None:
    if (request.content_length or 0) > MAX_BYTES:
        raise PayloadTooLarge(limit_bytes=MAX_BYTES)


async def read_object(request: web.Request) -> dict[str, Any]:
    """The JSON object in the body; an absent body is an empty object."""
    raw = await read(request)
    if not raw:
        return {}
    if "Content-Type" in request.headers and request.content_type != "application/json":
        raise InvalidInput(non_field_errors=["Send the body as application/json."])
    value = parse(raw)
    if not isinstance(value, dict):
        raise InvalidInput(non_field_errors=["The body must be a JSON object."])
    return value


def parse(raw: bytes) -> Any:
    """orjson refuses NaN, infinities, lone surrogates and bytes that are not UTF-8; depth is ours to refuse."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise InvalidInput(non_field_errors=["The body is not valid JSON."]) from None
    # Brackets are counted first because nearly no body needs the walk.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        _refuse_deep(value, MAX_DEPTH)
    return value


def _refuse_deep(value: Any, depth: int) -> None:
    if depth == 0:
        raise InvalidInput(non_field_errors=["The body is nested too deeply."])
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        _refuse_deep(member, depth - 1)
