"""A model's stream of server-sent events: read as bytes, each event parsed once.

The SDKs make an object of every event, which costs more than all else that is done for a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import orjson

DONE = b"[DONE]"  # the last event of OpenAI's Chat
DRAIN_SECONDS = 0.1  # for what stands behind it, so that the connection can be used again


class ToldError(Exception):
    """The server said in mid-stream that it failed. `body`: what it told, `code` its name for it."""

    def __init__(self, message: str, body: Any, request: httpx2.Request) -> None:
        super().__init__(message)
        self.body, self.request = body, request
        self.code = body.get("code") if isinstance(body, dict) else None


class EventDecoder:
    """Cuts bytes into events, however they are split over the reads: https://html.spec.whatwg.org/#event-stream."""

    def __init__(self) -> None:
        self._unread: list[bytes] = []  # the beginning of a line
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, read: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The name and the data of each event that is whole now."""
        last = max(read.rfind(b"\n"), read.rfind(b"\r", 0, -1)) + 1  # a CR at the end may be half of a CRLF
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


async def read_events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """The events of a response, to their end. ToldError where one says that the server failed; ValueError where one
    cannot be read."""
    decoder, done = EventDecoder(), False
    reads = aiter(response.aiter_bytes())
    async for read in reads:
        for name, data in decoder.feed(read):
            if data.startswith(DONE):
                done = True
                break
            event = _parsed(name, data, response.request)
            if event is not None:
                yield event
        if done:
            break
    if done:
        await _drain(reads)


def _parsed(name: bytes, data: bytes, request: httpx2.Request) -> dict[str, Any] | None:
    """None: nothing that is told of the reply."""
    if name == b"ping" or not data:
        return None
    try:
        event = loads(data)
    except ValueError:
        if name != b"error":
            raise
        raise ToldError(data.decode(errors="replace"), None, request) from None
    if not isinstance(event, dict):
        raise ValueError("an event is no object")
    told = event.get("error")
    if name == b"error" and not told:
        told = event if event.get("type") != "error" else None  # Responses tell theirs in fields of the event
    if told:
        message = told.get("message") if isinstance(told, dict) else told
        raise ToldError(str(message or told), told, request)
    return event


def loads(data: bytes) -> Any:
    """As json.loads, which takes what orjson does not: half a character, since some servers cut texts there."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


async def _drain(reads: AsyncIterator[bytes]) -> None:
    with contextlib.suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in reads:
                pass
