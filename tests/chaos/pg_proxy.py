"""A proxy between the service and PostgreSQL that delays, resets and cuts the connection at the worst moment."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit

COMMIT = b"COMMIT;\0"


class PgProxy:
    """Use as `async with PgProxy(dsn) as proxy`, then connect to `proxy.dsn`.

    `delay`: seconds before each message of the service. `cut_after_commit`: how many connections to close right after a
    COMMIT was forwarded, so that its response is lost. `close()` resets every connection and refuses new ones until
    `open()`. `swallow()` silently drops all data in both directions until `open()`. `half_open`: clients are not told
    that the server has closed the connection; `last_words` is set when it has.
    """

    def __init__(self, dsn: str) -> None:
        parts = urlsplit(dsn)
        query = parse_qs(parts.query)
        self._socket = f"{query['host'][0]}/.s.PGSQL.{query.get('port', ['5432'])[0]}" if "host" in query else ""
        self._host, self._port = parts.hostname or "localhost", parts.port or 5432
        self._parts = parts
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._closed = False
        self._through = asyncio.Event()
        self._through.set()
        self.delay = 0.0
        self.cut_after_commit = 0
        self.cuts = 0
        self.half_open = False
        self.last_words = asyncio.Event()

    @property
    def dsn(self) -> str:
        assert self._server
        port = self._server.sockets[0].getsockname()[1]
        user = quote(self._parts.username or "postgres")
        password = f":{quote(self._parts.password)}" if self._parts.password else ""
        return f"postgresql://{user}{password}@127.0.0.1:{port}{self._parts.path}?sslmode=disable"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self.close()
        self._server.close()

    def close(self) -> None:
        self._closed = True
        for writer in list(self._writers):
            writer.transport.abort()

    def swallow(self) -> None:
        self._through.clear()

    def open(self) -> None:
        self._closed = False
        self._through.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closed:
            writer.transport.abort()
            return
        upstream_reader, upstream_writer = await self._connect()
        self._writers |= {writer, upstream_writer}
        try:
            await asyncio.gather(self._requests(reader, upstream_writer, writer), self._pump(upstream_reader, writer))
        finally:
            for end in (writer, upstream_writer):
                self._writers.discard(end)
                end.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._socket:
            return await asyncio.open_unix_connection(self._socket)
        return await asyncio.open_connection(self._host, self._port)

    async def _requests(
        self, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                await self._through.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                upstream.write(data)
                await upstream.drain()
                if self.cut_after_commit and COMMIT in data:
                    self.cut_after_commit -= 1
                    self.cuts += 1
                    client.transport.abort()
                    await asyncio.sleep(0.2)  # the server processes what it received before it sees the end
        upstream.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                await self._through.wait()
                writer.write(data)
                await writer.drain()
        self.last_words.set()
        if not self.half_open:
            writer.transport.abort()
