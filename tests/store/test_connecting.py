"""A URL of several hosts leads to the one that takes writes, whatever the others do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import asyncpg
import pytest

from bookgen.errors import StartupError
from bookgen.store.connecting import connect, hosts_of
from bookgen.store.database import open_pool
from bookgen.store.postgres.embedded_or_external import running_postgres
from tests.chaos.pg_proxy import PgProxy
from tests.databases import command

REFUSES_WRITES = "ALTER DATABASE {} SET default_transaction_read_only = on"
FOREVER = 3600.0


@pytest.fixture
async def address(empty_dsn: str) -> AsyncIterator[str]:
    """A database by TCP."""
    async with PgProxy(empty_dsn) as proxy:
        yield proxy.dsn


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[int, asyncio.Event]]:
    """The port of a machine that hangs: it takes connections and says nothing. The event: somebody has asked."""
    asked, writers = asyncio.Event(), list[asyncio.StreamWriter]()

    def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        asked.set()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], asked
    server.close()
    for writer in writers:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def with_hosts(address: str, *ports: int) -> str:
    parts = urlsplit(address)
    login = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{login}@{','.join(f'127.0.0.1:{port}' for port in ports)}").geturl()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return int(closed.getsockname()[1])


def port_of(address: str) -> int:
    return urlsplit(address).port or 0


async def test_a_host_that_hangs_delays_no_connection_to_the_others(address: str) -> None:
    async with silent() as (port, asked):
        several = with_hosts(address, port, port_of(address))

        connection = await connect(several, timeout=FOREVER)

        assert asked.is_set()
        assert await connection.fetchval("SELECT current_setting('server_version_num')::int > 0")
        await connection.close()


async def test_a_pool_works_beside_a_host_that_hangs(address: str) -> None:
    async with silent() as (port, _):
        pool = await open_pool(with_hosts(address, port, port_of(address)), size=2)

        assert await pool.fetchval("SELECT 1") == 1
        await pool.close()


async def test_a_server_that_refuses_writes_is_not_used_although_the_url_does_not_say_so(address: str) -> None:
    several = with_hosts(address, port_of(address), port_of(address))
    await command(address, REFUSES_WRITES.format(urlsplit(address).path.strip("/")))

    with pytest.raises(asyncpg.TargetServerAttributeNotMatched):
        await connect(several, timeout=FOREVER)
    reader = await connect(f"{several}&target_session_attrs=any", timeout=FOREVER)

    assert await reader.fetchval("SHOW default_transaction_read_only") == "on"
    await reader.close()


async def test_a_wrong_password_is_reported_before_hosts_that_are_away(address: str) -> None:
    parts = urlsplit(address)
    wrong = parts._replace(netloc=f"{parts.username}:wrong@{parts.netloc.rpartition('@')[2]}").geturl()

    with pytest.raises(asyncpg.InvalidPasswordError):
        await connect(with_hosts(wrong, closed_port(), port_of(address)), timeout=FOREVER)


async def test_a_start_without_a_primary_says_so_and_names_all_hosts(address: str, tmp_path: object) -> None:
    name = urlsplit(address).path
    await command(address, REFUSES_WRITES.format(name.strip("/")))
    port = port_of(address)

    with pytest.raises(StartupError) as refused:
        async with running_postgres(with_hosts(address, port, port), tmp_path):  # type: ignore[arg-type]
            pass

    assert str(refused.value) == (
        f"BOOKGEN_DATABASE_URL: no server at 127.0.0.1,127.0.0.1{name} accepts writes. The address must "
        "include the primary server."
    )


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://u:p@a/d", ["postgresql://u:p@a/d"]),
        ("postgresql://a:1,b:2/d?x=1", ["postgresql://a:1/d?x=1", "postgresql://b:2/d?x=1"]),
        ("postgresql://u:p%40@[::1]:1,b/d", ["postgresql://u:p%40@[::1]:1/d", "postgresql://u:p%40@b/d"]),
        ("postgresql://u:p@/d?host=/run/a", ["postgresql://u:p@/d?host=/run/a"]),
    ],
)
def test_the_hosts_of_a_url_keep_all_the_rest_of_it(url: str, hosts: list[str]) -> None:
    assert hosts_of(url) == hosts
