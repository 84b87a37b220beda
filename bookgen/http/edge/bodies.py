"""Reading a request body once, within a deadline, as JSON."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import orjson
from aiohttp import web

from bookgen.errors import InvalidInput, PayloadTooLarge

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 32
MAX_LISTS = 10_000  # with the objects
READ_SECONDS = 15.0

# Strings and what is between them, up to a bracket; one without an end goes on to that of the body. A match gives
# nothing back, so that nothing is read twice.
_TEXTS = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?[^"{}\[\]]*+)++', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


async def read(request: web.Request) -> bytes:
    """The raw body, at most MAX_BYTES, as it was sent: a small one may unpack to gigabytes."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise InvalidInput(
            non_field_errors=["Compressed bodies are not supported. Send the body without Content-Encoding."]
        )
    refuse_large(request)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.read()
    except TimeoutError:
        raise InvalidInput(non_field_errors=["The request body did not arrive in time. Send it again."]) from None
    except web.HTTPRequestEntityTooLarge:
        raise PayloadTooLarge(limit_bytes=MAX_BYTES) from None
    except web.RequestPayloadError:
        raise InvalidInput(
            non_field_errors=["The request body is shorter than its headers say. Send it again."]
        ) from None


def refuse_large(request: web.Request) -> None:
    if (request.content_length or 0) > MAX_BYTES:
        raise PayloadTooLarge(limit_bytes=MAX_BYTES)


async def read_object(request: web.Request) -> dict[str, Any]:
    """The JSON object in the body; an absent body is an empty object."""
    raw = await read(request)
    if not raw:
        return {}
    # A page of any origin may send a body without a content type unasked, so that none is no JSON.
    if "Content-Type" not in request.headers or request.content_type != "application/json":
        raise InvalidInput(non_field_errors=["The body must be JSON. Send it with Content-Type: application/json."])
    value = parse(raw)
    if not isinstance(value, dict):
        raise InvalidInput(non_field_errors=["The body must be a JSON object."])
    return value


def parse(raw: bytes) -> Any:
    """orjson refuses NaN, infinities, lone surrogates and bytes that are not UTF-8. Depth is ours to refuse."""
    # Brackets are counted first because nearly no body needs a closer look.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        _refuse_deep(raw)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise InvalidInput(non_field_errors=["The body is not valid JSON."]) from None


def _refuse_deep(raw: bytes) -> None:
    """Before it is parsed: to make hundreds of thousands of lists would hold up the loop."""
    most = 2 * MAX_LISTS
    brackets = _TEXTS.sub(b"", raw, count=most + 2).translate(None, _NO_BRACKETS)  # of more, there are as many brackets
    if len(brackets) > most:
        raise InvalidInput(non_field_errors=[f"The body must not have more than {MAX_LISTS:,} objects and lists."])
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"{[" else -1
        if depth > MAX_DEPTH:
            raise InvalidInput(non_field_errors=["The body is nested too deeply."])
