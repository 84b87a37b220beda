"""An answer that is put together by whoever gives it: the shortest way to a socket, for what is polled."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter


def lines(headers: Mapping[str, str]) -> str:
    """Headers as they are sent."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


class WholeAnswer(web.StreamResponse):
    """A small answer, its head made into bytes at once, on a connection that stays open.

    aiohttp's own way from headers to a socket takes as long as everything else that a poll costs. Headers, of which
    `head` is made by `lines`, go out unchecked: what a caller has sent may be in none of them unless it was judged.
    """

    def __init__(self, status: int, head: str, body: bytes = b"") -> None:
        super().__init__(status=status)
        self.whole = f"HTTP/1.1 {status} {self.reason}\r\n{head}\r\n".encode() + body

    @property
    def keep_alive(self) -> bool:
        return True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        if request.transport is None:
            raise ConnectionResetError
        request.transport.write(self.whole)
        await request.writer.drain()
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """It is sent."""
