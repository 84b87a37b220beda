"""Reads a model's stream of server-sent events from bytes. Each event is parsed once.

The readers of the SDKs are not used, because they build an object for every event. That takes more CPU time than all
other work on a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson

from bookgen.providers.failures import ProviderError

DONE = b"[DONE]"  # the last event of OpenAI's Chat
DRAIN_SECONDS = 0.1  # for the bytes after DONE, so that the connection can be used again


class EventDecoder:
    """Splits a stream of server-sent events, which arrives as chunks of bytes, into events.

    A chunk may end anywhere, even in the middle of an event. https://html.spec.whatwg.org/#event-stream
    """

    def __init__(self) -> None:
        self._unread: list[bytes] = []  # the start of a line whose end has not arrived
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, read: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Take the next chunk of the stream. Yield the name and the data of each event that the chunk completes."""
        last = max(read.rfind(b"\n"), read.rfind(b"\r", 0, -1)) + 1  # a CR at the end may be half a CRLF
        if not last and not (self._unread and self._unread[-1].endswith(b"\r")):
            self._unread.append(read)
            return
        self._unread.append(read[:last])
        lines = b"".join(self._unread)
        self._unread = [read[last:]]
        for line in lines.splitlines():
            if not line:
                if self._data:
                    yield self._name, b"\n".join(self._data)
                self._name, self._data = b"", []
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"event:"):
                self._name = line[6:].strip()
            elif line == b"data":
                self._data.append(b"")


async def read_events(reads: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of a stream, each parsed from JSON. `reads`: the stream as chunks of bytes.

    Raises ProviderError for an event that reports an error, and ValueError for an unreadable event.
    """
    decoder, done = EventDecoder(), False
    async for read in reads:
        for name, data in decoder.feed(read):
            if data.startswith(DONE):
                done = True
                break
            event = _parsed(name, data)
            if event is not None:
                yield event
        if done:
            break
    if done:
        await _drain(reads)


def _parsed(name: bytes, data: bytes) -> dict[str, Any] | None:
    """Return the event, parsed from JSON; None for an event that has no part of the reply, such as a ping.

    Raises the same errors as `read_events`.
    """
    if name == b"ping" or not data:
        return None
    try:
        event = loads(data)
    except ValueError:
        if name != b"error":
            raise
        raise ProviderError(data.decode(errors="replace"), None) from None
    if not isinstance(event, dict):
        raise ValueError("an event is no object")
    error = event.get("error")
    if name == b"error" and not error:
        error = event if event.get("type") != "error" else None  # the Responses API has the error in the event itself
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        raise ProviderError(str(message or error), error)
    return event


def loads(data: bytes) -> Any:
    """Parse JSON. Some servers send half a surrogate pair, which orjson rejects, so json.loads is the second choice."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


async def _drain(reads: AsyncIterator[bytes]) -> None:
    with contextlib.suppress(Exception):  # the reply is complete; only the connection is lost
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in reads:
                pass
