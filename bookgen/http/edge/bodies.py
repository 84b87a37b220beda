"""Reads a request body once, within a deadline, and parses it as JSON."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import orjson
from aiohttp import web

from bookgen.errors import InvalidInput, PayloadTooLarge

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 32
MAX_LISTS = 10_000  # lists and objects together
READ_SECONDS = 15.0

# Strings and the text between them, up to a bracket. An unclosed string reaches to the end of the body. The
# quantifiers are possessive, so nothing is read twice.
_TEXTS = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?[^"{}\[\]]*+)++', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


async def read(request: web.Request) -> bytes:
    """The raw body. Raises PayloadTooLarge beyond MAX_BYTES, and InvalidInput for a compressed or incomplete body.

    Compressed bodies are refused, because a small body may unpack to gigabytes.
    """
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
    """The JSON object in the body, or an empty object if there is no body."""
    raw = await read(request)
    if not raw:
        return {}
    # Browsers let any site send a body without a content type, so such a body is not accepted as JSON.
    if "Content-Type" not in request.headers or request.content_type != "application/json":
        raise InvalidInput(non_field_errors=["The body must be JSON. Send it with Content-Type: application/json."])
    value = parse(raw)
    if not isinstance(value, dict):
        raise InvalidInput(non_field_errors=["The body must be a JSON object."])
    return value


def parse(raw: bytes) -> Any:
    """The parsed JSON. Raises InvalidInput if it is invalid or nested too deeply.

    orjson refuses NaN, infinities, lone surrogates and invalid UTF-8. The depth is checked here.
    """
    # Counting the brackets is fast, and almost no body has enough of them to need the exact check.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        _refuse_deep(raw)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise InvalidInput(non_field_errors=["The body is not valid JSON."]) from None


def _refuse_deep(raw: bytes) -> None:
    """Raise InvalidInput for JSON with too many lists and objects, or with too many levels of them.

    Parsing such JSON would block the event loop.
    """
    most = 2 * MAX_LISTS
    # Each match ends at a bracket, so a body with more matches than `count` has too many brackets in any case.
    brackets = _TEXTS.sub(b"", raw, count=most + 2).translate(None, _NO_BRACKETS)
    if len(brackets) > most:
        raise InvalidInput(non_field_errors=[f"The body must not have more than {MAX_LISTS:,} objects and lists."])
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"{[" else -1
        if depth > MAX_DEPTH:
            raise InvalidInput(
                non_field_errors=[f"The body is nested too deeply: at most {MAX_DEPTH} levels are allowed."]
            )
