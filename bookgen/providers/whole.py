"""Servers and gateways that answer a request for a stream with the whole reply at once."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from bookgen.providers.attempt import CallFailed, FailureKind


async def whole_reply(stream: Any) -> Any | None:
    """The reply with the attributes that its JSON names, or None when it does come as a stream."""
    if "json" not in stream.response.headers.get("content-type", ""):
        return None
    body = await stream.response.aread()
    try:
        reply = json.loads(body, object_hook=lambda fields: SimpleNamespace(**fields))
    except ValueError:
        reply = None
    if not isinstance(reply, SimpleNamespace):
        raise CallFailed("sent something that is not a model's answer", FailureKind.GARBLED)
    return reply


def parts(owner: Any, name: str) -> list[Any]:
    """A list of the reply; empty when it is not there."""
    value = getattr(owner, name, None)
    return value if isinstance(value, list) else []
