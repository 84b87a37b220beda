"""Hostile callers do not affect the others."""

import asyncio
import contextlib
import gzip
import time
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import pytest
from aiohttp import ClientSession, web

from bookgen.http.edge import bodies, connection
from bookgen.http.edge.concurrency import AT_ONCE
from bookgen.http.edge.connection_counts import ConnectionCounts
from bookgen.rate_limits import Budget, LimitClass, Limiter
from bookgen.store.database import Database
from tests.http.conftest import Api, OpenApi, pause

SLOW_SOCKETS = 500
ADDRESSES = 2_000
CHUNKED = (
    b"POST /api/v1/chatbot/ask/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
LOCK_WAITERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def test_slow_senders_are_cut_off_and_do_not_affect_others(visitor: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 3.0)
    async with listening(visitor) as port:
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(SLOW_SOCKETS)]
        for _, writer in slow:
            writer.write(b"GET /api/v1/books/demo/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")

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


async def test_a_request_in_progress_may_exceed_the_deadline_for_its_headers(
    visitor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)
    async with listening(visitor) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = b"POST /api/v1/chatbot/ask/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(head + b"Content-Length: 2\r\nConnection: close\r\n\r\n{")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await reader.read()
        writer.write(b"}")

        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()


@pytest.mark.parametrize(("chunk", "count"), [(b"1\r\n{\r\n", 20_000), (b"001;a=b\r\n1\r\n", 20_000)])
async def test_a_body_in_one_byte_chunks_is_cut_off_before_it_is_parsed(visitor: Api, chunk: bytes, count: int) -> None:
    async with listening(visitor) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(CHUNKED + chunk * count + b"0\r\n\r\n")

        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


def test_the_pattern_for_small_chunks_runs_in_linear_time() -> None:
    began = time.process_time()

    assert not connection.TINY_CHUNK.search((b"\r\n" + b"0" * 30 + b"x") * 1_500_000)

    assert time.process_time() - began < 2


async def test_a_body_in_a_few_hundred_small_chunks_is_accepted(visitor: Api) -> None:
    async with listening(visitor) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(CHUNKED + b"1\r\n{\r\n" * 500 + b"0\r\n\r\n")

        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()


async def test_a_compressed_body_reaches_the_handler_as_it_was_sent() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    app = web.Application()
    app.router.add_post("/", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    assert runner.server is not None
    server = connection.BoundedServer(app, runner.server, ConnectionCounts([], 1), 10.0, connection.CONNECTION_OPTIONS)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    url, packed = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/", gzip.compress(b"0" * 1000)
    async with ClientSession() as client, client.post(url, data=packed, headers={"Content-Encoding": "gzip"}) as reply:
        assert await reply.read() == packed
    listener.close()
    await runner.cleanup()


async def test_blocked_writes_of_one_account_leave_connections_and_memory_to_others(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    read_object = bodies.read_object

    async def counted(request: web.Request) -> dict[str, Any]:
        nonlocal read
        read += 1
        return await read_object(request)

    chapter = (await api.outlined())["chapters"][0]["id"]
    other = await api.as_new_account("bob")
    monkeypatch.setattr(bodies, "read_object", counted)
    async with database.runs.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM chapter WHERE id = $1 FOR UPDATE", chapter)
        saving = [
            asyncio.create_task(api.patch(f"/chapters/{chapter}/", {"content": f"{number}"})) for number in range(20)
        ]
        while await database.lease.fetchval(LOCK_WAITERS) < AT_ONCE:
            await pause()

        async with asyncio.timeout(10):
            assert (await other.get("/books/")).status == 200
        assert await database.lease.fetchval(LOCK_WAITERS) == read == AT_ONCE
    assert [(await save).status for save in saving] == [200] * 20


@pytest.mark.parametrize(
    ("path", "waits_for", "status"),
    [("/chapters/", "illustration", 200), ("/books/1/preview-data/", "rate_bucket", 404)],
)
async def test_the_requests_of_one_account_leave_connections_to_others(
    api: Api, database: Database, path: str, waits_for: str, status: int
) -> None:
    other = await api.as_new_account("bob")
    async with database.runs.acquire() as connection, connection.transaction():
        await connection.execute(f"LOCK TABLE {waits_for} IN ACCESS EXCLUSIVE MODE")
        asking = [asyncio.create_task(api.get(path)) for _ in range(40)]
        while await database.lease.fetchval(LOCK_WAITERS) < AT_ONCE:
            await pause()

        async with asyncio.timeout(10):
            assert (await other.get("/books/dropdown/")).status == 200
        assert await database.lease.fetchval(LOCK_WAITERS) == AT_ONCE
    assert [(await each).status for each in asking] == [status] * 40


async def test_connections_are_limited_per_address(visitor: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS_OF_AN_ADDRESS", 2)
    peers = iter(["203.0.113.1", "203.0.113.1", "203.0.113.1", "203.0.113.2", "203.0.113.1"])
    enter = ConnectionCounts.enter
    monkeypatch.setattr(ConnectionCounts, "enter", lambda counts, _: enter(counts, next(peers)))
    async with listening(visitor) as port, connected(port) as first, connected(port) as second:
        async with connected(port) as third, connected(port) as neighbour:
            answers = [await asked(each) for each in (first, second, third, neighbour)]
        await hung_up(first)
        async with connected(port) as next_one:
            later = [await asked(second), await asked(next_one)]

    assert answers == [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"", b"HTTP/1.1 200 OK"]
    assert later == [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK"]


async def test_a_client_that_does_not_read_its_answer_is_cut_off(visitor: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(connection, "BYTES_A_SECOND", 10**9)
    gone = asyncio.Event()
    monkeypatch.setattr(ConnectionCounts, "enter", lambda *_: "a peer")
    monkeypatch.setattr(ConnectionCounts, "is_full", lambda *_: False)
    monkeypatch.setattr(ConnectionCounts, "leave", lambda *_: gone.set())
    request = b"GET /api/v1/schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with listening(visitor) as port, connected(port) as (_, writer):
        writer.write(request * 30)  # more than the buffers of the sockets hold

        async with asyncio.timeout(20):
            await gone.wait()


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def hung_up(peer: Connection) -> None:
    """Make the server close this connection."""
    reader, writer = peer
    writer.write(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    await reader.read()


async def asked(peer: Connection) -> bytes:
    """The first line of a response on this connection, or nothing if it is closed."""
    reader, writer = peer
    writer.write(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    try:
        return (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0]
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def test_an_ipv6_network_counts_as_one_client_and_trusted_proxies_are_not_counted() -> None:
    counts = ConnectionCounts([ip_network("10.0.0.0/8")], most=1)

    uncounted = [counts.enter(peer) for peer in ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "10.1.2.3")]
    names = [counts.enter(peer) for peer in ("::ffff:203.0.113.1", "203.0.113.1", "2001:db8::1", "2001:db8::2")]

    assert uncounted == [None] * 5
    assert names == ["203.0.113.1", "203.0.113.1", "2001:db8::", "2001:db8::"]
    assert all(counts.is_full(name) for name in names if name)


@contextlib.asynccontextmanager
async def listening(visitor: Api) -> AsyncIterator[int]:
    """A second server with the runner that the service uses in production."""
    runner = connection.BoundedRunner(visitor.client.app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1]
    await site.stop()


async def test_a_flood_of_addresses_does_not_reset_the_budget_of_an_account(open_api: OpenApi) -> None:
    budgets = {limit_class: Budget(1_000_000, 60) for limit_class in LimitClass}
    budgets |= {LimitClass.READ: Budget(5, 3600), LimitClass.PUBLIC: Budget(2, 3600)}
    limiter = Limiter(budgets, max_callers=ADDRESSES // 10)
    visitor = await open_api(limiter=limiter, trusted_proxies="127.0.0.0/8")
    ada = await visitor.as_new_account("ada")
    await ada.get("/books/")

    answers = await from_addresses(visitor, ADDRESSES)

    assert answers == [200] * ADDRESSES
    assert (await ada.get("/books/")).headers["RateLimit-Remaining"] == "3"
    assert (await visitor.get("/public-settings/", headers={"X-Forwarded-For": "203.0.113.9"})).status == 200


async def from_addresses(visitor: Api, count: int) -> list[int]:
    """The statuses of requests from this many addresses, on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", visitor.client.port)
    statuses = []
    for number in range(count):
        address = f"198.51.{number >> 8}.{number & 255}"
        writer.write(
            f"HEAD /api/v1/books/demo/ HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\r\n".encode()
        )
        statuses.append(int((await reader.readuntil(b"\r\n\r\n")).split()[1]))
    writer.close()
    await writer.wait_closed()
    return statuses


async def test_reads_that_find_no_free_connection_fail_soon_and_delay_no_run(api: Api) -> None:
    book = await api.outlined()
    database = api.services.database
    await api.post(f"/books/{book['id']}/generate/")
    held = [await database.http.acquire() for _ in range(database.http.get_max_size())]

    began = time.monotonic()
    refused = await api.get("/books/")

    assert (refused.status, refused.code) == (503, "SERVICE_UNAVAILABLE")
    assert int(refused.headers["Retry-After"]) > 0
    assert time.monotonic() - began < 10
    async with asyncio.timeout(30):
        while await database.runs.fetchval("SELECT status FROM run") != "completed":  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.02)
    for one in held:
        await database.http.release(one)
    assert (await api.get("/books/")).status == 200
