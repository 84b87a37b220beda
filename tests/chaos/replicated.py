"""A PostgreSQL primary with a synchronous standby, two real servers on ports of this machine, to be failed over."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from bookgen.store.postgres import binaries
from bookgen.store.postgres.account import Runner
from bookgen.store.postgres.postmaster import die_with_parent
from tests.ports import free_port

NAME = "bookgen"  # of the role and its database
SUPERUSER = "postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "300",
    "shared_preload_libraries": "pg_stat_statements",
    "jit": "off",
    "max_wal_size": "512MB",
}
START_SECONDS = 60.0
IN_SYNC = "SELECT count(*) = 1 FROM pg_stat_replication WHERE application_name = $1 AND sync_state = 'sync'"
STREAMS = "SELECT count(*) = 1 FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming'"


class PostgresServer:
    """One PostgreSQL server. Its name is the one under which it replicates."""

    def __init__(self, name: str, root: Path, programs: Path, runner: Runner) -> None:
        self.name = name
        self.folder = root / name
        self.log = root / f"{name}.log"
        self.port = free_port()
        self._programs = programs
        self._runner = runner
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """The service's database, for its superuser."""
        return self.dsn_of(SUPERUSER, NAME)

    def dsn_of(self, role: str, database: str) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    async def make(self) -> None:
        """Make an empty cluster, whose server trusts everyone on this machine."""
        await self._run("initdb", "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions")

    async def copy(self, other: PostgresServer) -> None:
        """Make this the standby of another server, from a base backup."""
        shutil.rmtree(self.folder, ignore_errors=True)
        source = f"{other.dsn_of(SUPERUSER, SUPERUSER).partition('?')[0]}?sslmode=disable"
        await self._run("pg_basebackup", "-d", source, "-X", "stream", "-c", "fast", "-R")

    async def start(self) -> None:
        self._process = self._spawn()
        async with asyncio.timeout(START_SECONDS):
            while not await self._answers():
                assert self._process.poll() is None, self.log.read_text()[-2000:]
                await asyncio.sleep(0.05)

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = SETTINGS | {"port": str(self.port), "cluster_name": self.name}
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                preexec_fn=functools.partial(die_with_parent, os.getpid(), signal.SIGQUIT),
                **self._runner.credentials,
            )

    async def promote(self) -> None:
        """Make this standby the primary. Returns once it takes writes."""
        await self._run("pg_ctl", "promote", "-w")

    def processes(self) -> list[int]:
        """The ids of its processes, the postmaster's first."""
        assert self._process
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return [self._process.pid, *map(int, children)]

    def kill(self) -> None:
        """End all its processes at the same moment, as the end of a machine does."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)  # it starts no more of them
        for pid in reversed(self.processes()):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Freeze all its processes, or wake them."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):  # a connection's process may just have ended
                os.kill(pid, number)

    async def value(self, sql: str, *arguments: object) -> object:
        """The answer to a query of its superuser, in the superuser's own database."""
        return await self.value_of(SUPERUSER, sql, *arguments)

    async def value_of(self, database: str, sql: str, *arguments: object) -> object:
        return await _value(self.dsn_of(SUPERUSER, database), sql, *arguments)

    async def until(self, sql: str, *arguments: object) -> None:
        """Wait until the query returns true."""
        async with asyncio.timeout(START_SECONDS):
            while not await self.value(sql, *arguments):  # noqa: ASYNC110 (the signal is a row)
                await asyncio.sleep(0.05)

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self.signal(signal.SIGCONT)  # it may be frozen
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    async def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments, "-D", str(self.folder)]
        await asyncio.to_thread(self._runner.run, command)

    async def _answers(self) -> bool:
        try:
            return await self.value("SELECT true") is True
        except (OSError, asyncpg.PostgresError):
            return False


class ReplicatedPostgres:
    """A primary and its standby. A commit is confirmed once both have it on disk."""

    def __init__(self, primary: PostgresServer, standby: PostgresServer) -> None:
        self.primary, self.standby = primary, standby
        self._hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"

    @property
    def url(self) -> str:
        """What the service gets: both servers, of which it wants the one that takes writes."""
        return f"postgresql://{NAME}@{self._hosts}/{NAME}?target_session_attrs=read-write&sslmode=disable"

    async def fail_over(self) -> None:
        """End the primary and promote the standby, which confirms commits alone until it has a standby of its own."""
        self.primary.kill()
        await self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    async def add_standby(self) -> None:
        """Make the other server the primary's synchronous standby, from a base backup."""
        await self.standby.copy(self.primary)
        await self.standby.start()
        await self.primary.until(STREAMS, self.standby.name)
        await self.primary.value(f"ALTER SYSTEM SET synchronous_standby_names = '{self.standby.name}'")
        await self.primary.value("SELECT pg_reload_conf()")
        await self.primary.until(IN_SYNC, self.standby.name)


@asynccontextmanager
async def servers(*names: str) -> AsyncIterator[list[PostgresServer]]:
    """Servers with these names, none of which has a cluster yet."""
    programs = binaries.find()
    root = Path(tempfile.mkdtemp(prefix="bookgen-servers-"))
    runner = Runner.for_folder()
    runner.own(root)
    made = [PostgresServer(name, root, runner.executable(programs), runner) for name in names]
    try:
        yield made
    finally:
        for server in made:
            server.stop()
        shutil.rmtree(root, ignore_errors=True)


@asynccontextmanager
async def one_server() -> AsyncIterator[PostgresServer]:
    """A running server with an empty database."""
    async with servers("alone") as (server,):
        await _begin(server)
        yield server


@asynccontextmanager
async def replicated_postgres() -> AsyncIterator[ReplicatedPostgres]:
    """A running primary with an empty database, and its standby in sync."""
    async with servers("one", "other") as (one, other):
        await _begin(one)
        pair = ReplicatedPostgres(one, other)
        await pair.add_standby()
        yield pair


async def _begin(server: PostgresServer) -> None:
    await server.make()
    await server.start()
    await server.value(f"CREATE ROLE {NAME} LOGIN")
    await server.value(f"CREATE DATABASE {NAME} OWNER {NAME}")


async def _value(dsn: str, sql: str, *arguments: object) -> object:
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        return await connection.fetchval(sql, *arguments)
    finally:
        await connection.close()
