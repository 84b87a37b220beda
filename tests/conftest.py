"""One PostgreSQL for the whole session, one migrated template in it, one clone of it for each test."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bookgen.store.database import Database, open_pool
from bookgen.store.migrate import migrate
from bookgen.store.postgres.embedded import EmbeddedPostgres

pytest_plugins = ("tests.canaries",)

SQL = Path(__file__).parent.parent / "sql"
TEMPLATE = "bookgen_template"
# Durability is tested on clusters of its own; here it would only cost time.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
_numbers = itertools.count()


class Cluster:
    """Started on the main thread of the process that owns it: the server dies with its starter."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="bookgen-test-"))
        bindir = os.environ.get("BOOKGEN_PG_BINDIR")  # any other PostgreSQL than the bundled one
        self._server = EmbeddedPostgres(self._folder, Path(bindir) if bindir else None, settings=FAST)
        self.dsn = asyncio.run(self._open())

    async def _open(self) -> str:
        dsn = await self._server.start()
        await _command(dsn, f"CREATE DATABASE {TEMPLATE}")
        await migrate(_database(dsn, TEMPLATE), SQL)
        return dsn

    def keep_log(self) -> None:
        from tests.canaries import keep_logs  # a plugin, so pytest imports it first

        keep_logs(self._folder)

    def close(self) -> None:
        asyncio.run(self._server.stop())
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: pytest.Item) -> None:
    """In an xdist run the controller owns the cluster and hands its DSN to every worker."""
    if not hasattr(node.config, "cluster"):
        node.config.cluster = Cluster()
    node.workerinput["cluster_dsn"] = node.config.cluster.dsn  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "cluster"):
        session.config.cluster.keep_log()


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "cluster"):
        config.cluster.close()


@pytest.fixture(scope="session")
def cluster_dsn(request: pytest.FixtureRequest) -> str:
    handed = getattr(request.config, "workerinput", {}).get("cluster_dsn")
    if handed is None:
        request.config.cluster = Cluster()
        handed = request.config.cluster.dsn
    return str(handed)


@pytest.fixture
async def empty_dsn(cluster_dsn: str) -> AsyncIterator[str]:
    """A database without a schema."""
    async with _fresh_database(cluster_dsn, "template1") as dsn:
        yield dsn


@pytest.fixture
async def dsn(cluster_dsn: str) -> AsyncIterator[str]:
    """A migrated database of the test's own."""
    async with _fresh_database(cluster_dsn, TEMPLATE) as dsn:
        yield dsn


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[asyncpg.Pool]:
    pool = await open_pool(dsn, size=5)
    yield pool
    pool.terminate()


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = await Database.open(dsn, http_connections=5, run_connections=5)
    yield database
    await database.close(patience=1.0)


@contextlib.asynccontextmanager
async def _fresh_database(cluster_dsn: str, template: str) -> AsyncIterator[str]:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    await _command(cluster_dsn, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _database(cluster_dsn, name)
    await _command(cluster_dsn, f"DROP DATABASE {name} WITH (FORCE)")


async def _command(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


def _database(dsn: str, name: str) -> str:
    return dsn.replace("/postgres?", f"/{name}?")
