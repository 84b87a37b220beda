"""Callers who mean no good leave the others unaffected."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from bookgen.http import server
from bookgen.http.server import build_runner
from bookgen.limits import Budget, LimitClass
from tests.http.conftest import UNLIMITED, Api, OpenApi

SLOW_SOCKETS = 500
ADDRESSES = 10_000


async def test_slow_senders_leave_others_unaffected_and_are_cut_off(
    visitor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 3.0)
    async with listening(visitor) as port:
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(SLOW_SOCKETS)]
        for _, writer in slow:
            writer.write(b"GET /api/v1/books/demo/ HTTP/1.1\r\nHost: x\r\nX-Slow: ")

        began = time.monotonic()
        reply = await visitor.get("/books/demo/")
        others = time.monotonic() - began
        async with asyncio.timeout(30):
            cut = await asyncio.gather(*(reader.read() for reader, _ in slow), return_exceptions=True)

        assert reply.status == 200
        assert others < 5.0
        assert all(answer == b"" or isinstance(answer, ConnectionResetError) for answer in cut)
        for _, writer in slow:
            writer.close()


async def test_a_request_in_progress_outlives_the_deadline_of_its_head(
    visitor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    async with listening(visitor) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            b"POST /api/v1/chatbot/ask/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
        )
        writer.write(head + b"Connection: close\r\n\r\n{")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await reader.read()
        writer.write(b"}")

        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()


@contextlib.asynccontextmanager
async def listening(visitor: Api) -> AsyncIterator[int]:
    """The service once more, on the runner that it has in earnest."""
    runner = build_runner(visitor.client.app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1]
    await site.stop()


async def test_ten_thousand_addresses_leave_an_account_its_budget(open_api: OpenApi) -> None:
    visitor = await open_api(budgets={**UNLIMITED, LimitClass.READ: Budget(5, 3600)})
    ada = await visitor.as_new_account("ada")
    await ada.get("/books/")
    limiter = visitor.services.limiter

    for number in range(ADDRESSES):
        limiter.take(LimitClass.PUBLIC, f"198.51.{number >> 8}.{number & 255}")

    assert (await ada.get("/books/")).headers["RateLimit-Remaining"] == "3"
    assert (await visitor.get("/books/demo/")).status == 200
