"""Reads the bytes of a streamed reply. It limits the wait for the first byte, silence within the reply, and its size.

The SDKs have a single read timeout for headers and body, and no limit on the size. Silence means that no bytes arrive,
so a provider that sends pings is alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2

from bookgen.providers.deadlines import Deadlines

MAX_REPLY_BYTES = 16 * 2**20  # more than any chapter or picture


class ReplyTooLarge(Exception):
    """The reply is larger than any chapter or picture."""


class SilentServer(Exception):
    """The server sent no byte within the deadline."""


class StreamedReply:
    """A response whose headers have arrived. `response`: the SDK's response, whose body has not been read yet."""

    def __init__(self, response: Any, deadlines: Deadlines) -> None:
        self.headers: Mapping[str, str] = response.headers
        self._response, self._deadlines = response, deadlines

    async def reads(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the body as they arrive. Raises SilentServer if no byte comes in time."""
        reads, seconds = aiter(self._response.iter_bytes()), self._deadlines.first_byte
        while True:
            async with bytes_within(seconds):
                read = await anext(reads, None)
            if read is None:
                return
            yield read
            seconds = self._deadlines.idle


@asynccontextmanager
async def bytes_within(seconds: float) -> AsyncIterator[None]:
    """A context manager that raises SilentServer if its block takes longer than `seconds`."""
    bound = asyncio.timeout(seconds)
    try:
        async with bound:
            yield
    except TimeoutError:
        if not bound.expired():
            raise
        raise SilentServer(f"no byte within {seconds:g} s") from None


async def limit_size(response: httpx2.Response) -> None:
    """Make reading `response` raise ReplyTooLarge beyond MAX_REPLY_BYTES. For use as an HTTP client's response hook."""
    response.stream = _LimitedStream(cast(httpx2.AsyncByteStream, response.stream))


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for read in self._inner:
            received += len(read)
            if received > MAX_REPLY_BYTES:
                raise ReplyTooLarge(f"more than {MAX_REPLY_BYTES:,} bytes")
            yield read

    async def aclose(self) -> None:
        await self._inner.aclose()
