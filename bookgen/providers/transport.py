"""The wire under the SDKs: deadlines for the first byte and for silence, a cap on the bytes of a reply.

httpx2 knows one read timeout for the headers and for each chunk, and no cap. Both SDKs take a client, so the
limits stand here once, for both, and count bytes rather than events: a provider that pings is alive. The client sends
by aiohttp: httpx2's own transport looks at every connection before each request, and takes a reply apart in Python.
"""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast
from urllib.request import getproxies

import aiohttp
import httpx2
from yarl import URL

from bookgen.providers.deadlines import Deadlines

MAX_BYTES = 16 * 2**20
STALE_SECONDS = 1.0  # within which a request hears that its connection was closed before it


# The bounds of the call that this task makes, where they are not those of every call.
OF_THIS_CALL: ContextVar[Deadlines | None] = ContextVar("OF_THIS_CALL", default=None)


class ReplyTooLarge(httpx2.TransportError):
    """The reply is larger than any chapter can be."""


class BoundedClient(httpx2.AsyncClient):
    """An httpx2 client as the SDKs want one. It reads the trust store, which takes its time: make it in a thread.

    A request of theirs is whole: what httpx2 would merge it with and ask about it takes longer than to send it.
    """

    def __init__(self, deadlines: Deadlines, *, connections: int) -> None:
        self._wire = AiohttpTransport(connections)
        super().__init__(
            timeout=httpx2.Timeout(connect=deadlines.connect, read=None, write=30, pool=None),
            follow_redirects=True,
            transport=self._wire,
        )
        self._deadlines = deadlines

    def build_request(
        self, method: str, url: Any, *, content: Any = None, headers: Any = None, timeout: Any = None, **more: Any
    ) -> httpx2.Request:
        if not isinstance(content, bytes) or any(more.values()):
            return super().build_request(method, url, content=content, headers=headers, **more)
        sent, timeouts = httpx2.Headers(headers), {"timeout": self.timeout.as_dict()}
        sent["Accept-Encoding"] = self.headers["Accept-Encoding"]
        body = httpx2.ByteStream(content)  # whose length and host aiohttp tells
        return httpx2.Request(method, _read_url(str(url)), headers=sent, stream=body, extensions=timeouts)

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        deadlines = OF_THIS_CALL.get() or self._deadlines
        try:
            async with asyncio.timeout(deadlines.connect + deadlines.first_byte):
                response = await self._wire.handle_async_request(request)
                response.request = request
                if response.has_redirect_location:
                    await response.aclose()
                    response = await super().send(request, stream=True, **options)
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no answer within {deadlines.first_byte:g} s", request=request) from None
        inner = cast(httpx2.AsyncByteStream, response.stream)
        response.stream = _BoundedStream(inner, request, deadlines)
        if not stream:
            await response.aread()
        return response


@functools.lru_cache(maxsize=8)
def _read_url(url: str) -> httpx2.URL:
    """Kept, since to read one takes longer than to send a request, and a provider is asked at one or two."""
    return httpx2.URL(url)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request, deadlines: Deadlines) -> None:
        self._inner, self._request, self._deadlines = inner, request, deadlines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks, seconds, received = aiter(self._inner), self._deadlines.first_byte, 0
        while True:
            try:
                async with asyncio.timeout(seconds):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise httpx2.ReadTimeout(f"silent for {seconds:g} s", request=self._request) from None
            received += len(chunk)
            if received > MAX_BYTES:
                raise ReplyTooLarge(f"more than {MAX_BYTES} bytes", request=self._request)
            yield chunk
            seconds = self._deadlines.idle

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(slots=True)
class _Connection:
    """Of one request. `kept_until`: when it was used again, so that the server may have closed it by then."""

    kept_until: float | None = None

    def was_closed(self) -> bool:
        """Whether what breaks off now was closed before the request. Later, the server was at work, and is paid."""
        return self.kept_until is not None and asyncio.get_running_loop().time() <= self.kept_until + STALE_SECONDS


def _tells_kept_connections() -> aiohttp.TraceConfig:
    async def tell(_session: object, context: Any, _told: object) -> None:
        context.trace_request_ctx.kept_until = asyncio.get_running_loop().time()

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(tell)
    return tracing


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """At most `connections` at once; a request waits for one. It reads the trust store: make it in a thread."""

    def __init__(self, connections: int) -> None:
        self._connections, self._trust = connections, httpx2.create_ssl_context()
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        with _named_as_httpx2_does(request):
            connection = _Connection()
            try:
                reply = await self._asked(request, connection)
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                if not connection.was_closed():
                    raise
                # llama.cpp closes each when its reply has ended, and says that it keeps it
                reply = await self._asked(request, _Connection())
        stream = _ReplyStream(reply, request)
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": (reply.reason or "").encode("ascii", "replace")}
        return httpx2.Response(reply.status, headers=reply.raw_headers, stream=stream, extensions=extensions)

    async def _asked(self, request: httpx2.Request, connection: _Connection) -> aiohttp.ClientResponse:
        return await self._opened().request(
            request.method,
            URL(str(request.url), encoded=True),
            headers=request.headers.multi_items(),
            data=request.content or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(sock_connect=request.extensions["timeout"]["connect"]),
            trace_request_ctx=connection,
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, ssl=self._trust),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trace_configs=[_tells_kept_connections()],
                trust_env=bool(getproxies()),  # with it aiohttp looks for a .netrc at every request
            )
        return self._session


class _ReplyStream(httpx2.AsyncByteStream):
    def __init__(self, reply: aiohttp.ClientResponse, request: httpx2.Request) -> None:
        self._reply, self._request = reply, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _named_as_httpx2_does(self._request):
            async for read in self._reply.content.iter_any():
                yield read

    async def aclose(self) -> None:
        """Gives the connection back; closes it where the reply is not at its end."""
        self._reply.release()


def _why(error: OSError) -> str:
    """asyncio's own words name the address once more, and not what was wrong with it."""
    if error.errno is None or error.errno <= 0 or isinstance(error, ssl.SSLError):
        return error.strerror or str(error)
    return os.strerror(error.errno)


@contextmanager
def _named_as_httpx2_does(request: httpx2.Request) -> Iterator[None]:
    try:
        yield
    except aiohttp.ServerTimeoutError as error:
        raise httpx2.ConnectTimeout(str(error), request=request) from None
    except aiohttp.ClientConnectorError as error:
        raise httpx2.ConnectError(f"{error.host}:{error.port}: {_why(error.os_error)}", request=request) from None
    except aiohttp.InvalidURL as error:
        raise httpx2.UnsupportedProtocol(str(error), request=request) from None
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
        raise httpx2.RemoteProtocolError(str(error), request=request) from None
    except (aiohttp.ClientError, OSError) as error:
        raise httpx2.ReadError(str(error), request=request) from None
