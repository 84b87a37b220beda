"""Reads replies of servers and gateways that ignore the request for a stream and send the whole reply at once."""

from __future__ import annotations

from typing import Any

from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.events import loads
from bookgen.providers.reading import StreamedReply


async def whole_reply(streamed: StreamedReply) -> dict[str, Any] | None:
    """Return the reply if it is one JSON object; None if it is a stream of events. Raises CallFailed for other JSON."""
    if "json" not in streamed.headers.get("content-type", ""):
        return None
    try:
        reply = loads(b"".join([read async for read in streamed.reads()]))
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise CallFailed("sent a response that is not a model's answer", FailureKind.GARBLED)
    return reply


def parts(owner: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects in the list `owner[name]`; empty if there is no such list."""
    value = owner.get(name) if isinstance(owner, dict) else None
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
