"""One PostgreSQL for the whole session, and a database in it for each test."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bookgen import processes
from bookgen.settings import names
from bookgen.store.database import Database
from bookgen.store.postgres.embedded import EmbeddedPostgres
from tests.databases import Databases, Lent, empty_database, make_template
from tests.programs import begin_to_load, share, start_worker, until_loaded
from tests.render_pool import SHARED

gc.disable()  # until test collection is over, since imports create no garbage

pytest_plugins = ("tests.canaries", "tests.checkers", "tests.locks", "tests.slow")

# Durability is tested on separate clusters. Here it would only cost time.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}

# Java checkers run for one file each; compiling them for speed would take half of their time.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """Start the PostgreSQL server, on the main thread of its owner, because the server dies with that thread."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="bookgen-test-"))
        bindir = os.environ.get("BOOKGEN_PG_BINDIR")  # any PostgreSQL other than the bundled one
        self._server = EmbeddedPostgres(self._folder, Path(bindir) if bindir else None, settings=FAST)
        self.dsn = asyncio.run(self._open())

    async def _open(self) -> str:
        await self._server.start()
        # The superuser's DSN, because tests create databases and empty tables without firing triggers.
        await make_template(self._server.superuser_dsn)
        return self._server.superuser_dsn

    def keep_log(self) -> None:
        from tests.canaries import keep_logs  # a plugin, so pytest imports it first

        keep_logs(self._folder)

    def close(self) -> None:
        asyncio.run(self._server.stop())
        shutil.rmtree(self._folder, ignore_errors=True)


def pytest_configure() -> None:
    """Keep the machine's settings out of the tests, and fork worker processes. PostgreSQL settings stay."""
    for name in {*names().values(), "DATABASE_URL"} - {"BOOKGEN_PG_BINDIR"}:
        os.environ.pop(name, None)
    processes.start = start_worker  # type: ignore[assignment]
    os.environ.setdefault("JDK_JAVA_OPTIONS", SHORT_LIVED)


def pytest_sessionstart(session: pytest.Session) -> None:
    if address := getattr(session.config, "workerinput", {}).get("forkserver"):
        share(address)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()  # so that garbage collection skips imported objects in every test
    gc.enable()
    if hasattr(session.config, "workerinput"):  # so that no test waits for it
        until_loaded()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: pytest.Item) -> None:
    """In an xdist run the controller owns the cluster and the fork server, which loads during test collection."""
    if not hasattr(node.config, "cluster"):
        gc.enable()  # only the workers collect tests
        node.config.forkserver = begin_to_load()
        node.config.cluster = Cluster()
    node.workerinput["forkserver"] = node.config.forkserver
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
    async with empty_database(cluster_dsn) as dsn:
        yield dsn


@pytest.fixture(scope="session")
async def databases(cluster_dsn: str) -> AsyncIterator[Databases]:
    databases = Databases(cluster_dsn)
    yield databases
    databases.close()


@pytest.fixture(scope="session", autouse=True)
async def end_of_the_render_pool() -> AsyncIterator[None]:
    yield
    await SHARED.end()


@pytest.fixture
async def lent(databases: Databases) -> AsyncIterator[Lent]:
    """A migrated database that no other test uses at the same time."""
    async with databases.lent() as lent:
        yield lent
        await end_tasks()


@pytest.fixture
def dsn(lent: Lent) -> str:
    return lent.dsn


@pytest.fixture
async def database(lent: Lent) -> Database:
    return await lent.database()


@pytest.fixture
def pool(database: Database) -> asyncpg.Pool:
    return database.http


async def end_tasks() -> None:
    """Check that the test left nothing running that could disturb the next one."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
