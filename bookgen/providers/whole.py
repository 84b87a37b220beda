"""Servers and gateways that answer a request for a stream with the whole reply at once."""

from __future__ import annotations

from typing import Any

import httpx2

from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.events import loads


async def whole_reply(response: httpx2.Response) -> dict[str, Any] | None:
    """The reply, or None when it does come as a stream."""
    if "json" not in response.headers.get("content-type", ""):
        return None
    try:
        reply = loads(await response.aread())
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise CallFailed("sent a response that is not a model's answer", FailureKind.GARBLED)
    return reply


def parts(owner: Any, name: str) -> list[dict[str, Any]]:
    """A list of the reply; empty when it is not there."""
    value = owner.get(name) if isinstance(owner, dict) else None
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
