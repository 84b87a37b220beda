"""A private PostgreSQL server in the data folder, with programs from a wheel or the system.

The server dies with the process that started it. Every process that uses the folder watches the server, and the first
one that finds it gone starts it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import asyncpg
import structlog

from bookgen.errors import StartupError
from bookgen.store.postgres import binaries, roles, sockets
from bookgen.store.postgres.account import Runner
from bookgen.store.postgres.clusters import current_major, dsn_of, init_cluster, require_cluster
from bookgen.store.postgres.keyfile import kept_secret, open_beside
from bookgen.store.postgres.moving import RolePasswords, move
from bookgen.store.postgres.postmaster import Postmaster
from bookgen.store.postgres.sockets import socket_folder
from bookgen.store.postgres.space import make_data_folder
from bookgen.store.postgres.starting import FIRST_REST_SECONDS, MAX_REST_SECONDS, START_SECONDS, bring_up, until

log = structlog.get_logger(__name__)

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",  # protected by the permissions of its folder and by a password
    "max_connections": "100",
    "shared_buffers": "128MB",
    # Limits how much has to be replayed after a crash.
    "max_wal_size": "256MB",
    "checkpoint_timeout": "60s",
    "jit": "off",
    # The caller gets the errors of its statements. The server's log is only for the server's own problems.
    "log_min_messages": "log",
    "log_checkpoints": "off",
}
SUPERUSER_PASSWORD, SERVICE_PASSWORD = "pg.password", "pg.service.password"
WATCH_SECONDS = 0.2


class EmbeddedPostgres:
    """The embedded server. Several processes may share it, but only the one that started it stops it."""

    def __init__(
        self,
        data_dir: Path,
        bindir: Path | None = None,
        *,
        old_bindir: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`bindir`: the folder of the programs to run, if not the default one.

        `old_bindir`: the folder of the programs of an older version, which are needed to move its database to the new
        version.
        """
        self._root = data_dir.resolve()
        self._bindir = bindir
        self._old_bindir = old_bindir
        self._settings = {**SETTINGS, **(settings or {})}
        self._watch: asyncio.Task[None] | None = None
        self._server: Postmaster | None = None
        self.superuser_dsn = ""

    async def start(self, *, create: bool = True) -> str:
        """Start the server, or join the one that another process runs on this folder. Returns the DSN for the service.

        Call it on the event loop of the main thread. A database of an older PostgreSQL is moved to the newer one first.

        `create`: False for commands that must not create or move anything. NoDatabase is then raised if there is no
        database, and an older one is opened with its own programs. To join, read access to the folder is enough.
        """
        if not create and (dsn := await self._joined()):
            return dsn
        await asyncio.to_thread(make_data_folder, self._root)
        passwords = await asyncio.to_thread(self._passwords)
        async with self._lock():
            if self._server is None:
                self._server = await self._prepare(passwords, may_move=create)
            server = self._server
            await asyncio.to_thread(init_cluster, server, passwords.superuser)
            await bring_up(server)
            address = server.adopt_socket()
            self.superuser_dsn = dsn_of(roles.SUPERUSER, passwords.superuser, address)
            await roles.give_to_service(self.superuser_dsn, passwords.service)
        self._watch = asyncio.create_task(self._keep_running(server))
        return dsn_of(roles.SERVICE, passwords.service, address)

    async def _joined(self) -> str | None:
        """The DSN of the server that another process runs on this folder, or None if there is none.

        Raises NoDatabase, or StartupError if this user may not read the folder or may not start the server.
        """
        try:
            require_cluster(self._root)
            folder = socket_folder(self._root)
            if (folder / sockets.NAME).exists():
                dsn = dsn_of(roles.SERVICE, kept_secret(self._root / SERVICE_PASSWORD), sockets.address(folder))
                if await _answers(dsn):
                    return dsn
            if not os.access(self._root, os.W_OK):
                raise StartupError(
                    f"The service is not running, and only {_owner(self._root)} or root may start its database. Start "
                    "the service, or run this command as that user."
                )
        except PermissionError as error:
            raise StartupError(
                f"BOOKGEN_DATA_DIR={self._root} can't be read: {error.strerror}. Run this command as "
                f"{_owner(self._root)} or root."
            ) from error
        return None

    async def stop(self) -> None:
        """Stop the server if this process started it."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        if self._server is not None:
            await asyncio.to_thread(self._server.stop)

    def _passwords(self) -> RolePasswords:
        return RolePasswords(kept_secret(self._root / SUPERUSER_PASSWORD), kept_secret(self._root / SERVICE_PASSWORD))

    async def _prepare(self, passwords: RolePasswords, *, may_move: bool) -> Postmaster:
        """The server of the folder's database, which is moved first if it is older than the installed programs.

        The caller holds the lock, because another process could move the database in the meantime.
        """
        current = current_major(self._root)
        chosen = await asyncio.to_thread(binaries.choose, self._bindir, self._old_bindir, current, may_move=may_move)
        runner = Runner.for_folder(self._root / f"pg{current}", self._root)
        server = await asyncio.to_thread(self._postmaster, runner, chosen.programs)
        if chosen.former is not None:
            former = await asyncio.to_thread(self._postmaster, runner, chosen.former)
            await move(former, server, chosen.programs, passwords)
        return server

    async def _newest(self, server: Postmaster) -> Postmaster:
        """The server for the folder's database: `server`, unless another process has moved the database meanwhile.

        The caller holds the lock, and must start the returned server: anything stored in the old cluster after a move
        would be lost. Raises StartupError if this process has no programs for the database's version.
        """
        if current_major(self._root) in (None, int(server.data.name.removeprefix("pg"))):
            return server
        passwords = await asyncio.to_thread(self._passwords)
        return await self._prepare(passwords, may_move=False)

    def _postmaster(self, runner: Runner, bindir: Path) -> Postmaster:
        return Postmaster(
            programs=runner.executable(bindir),
            data=self._root / f"pg{binaries.major(bindir)}",
            sockets=socket_folder(self._root),
            log=self._root / "postgres.log",
            runner=runner,
            settings=self._settings,
        )

    @contextlib.asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        """A context with a file lock, so that only one process at a time starts the server.

        The kernel frees the lock even after a kill -9.
        """
        path = self._root / "pg.lock"
        with os.fdopen(await asyncio.to_thread(open_beside, path, os.O_WRONLY), "w") as file:
            async for _ in until(START_SECONDS, f"another process keeps {path} locked"):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
            yield

    async def _keep_running(self, server: Postmaster) -> None:
        rest = FIRST_REST_SECONDS
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if server.alive():
                continue
            log.warning("postgres_ended", what="The embedded PostgreSQL server has ended. bookgen starts it again.")
            try:
                async with self._lock():
                    server = self._server = await self._newest(server)
                    await bring_up(server, rest)
                rest = FIRST_REST_SECONDS
            except Exception as error:
                log.error(
                    "postgres_not_started",
                    reason=str(error),
                    to_do="Remove the cause that `reason` or postgres.log names. bookgen keeps trying.",
                    exc_info=not isinstance(error, StartupError),
                )
                rest = MAX_REST_SECONDS


async def _answers(dsn: str) -> bool:
    """Whether a server accepts connections. Waits for a server that is starting or stopping."""
    async for _ in until(START_SECONDS, "PostgreSQL did not finish its start"):
        try:
            await (await asyncpg.connect(dsn, timeout=10)).close()
            return True
        except (asyncpg.CannotConnectNowError, asyncpg.ConnectionDoesNotExistError):
            continue
        except (FileNotFoundError, ConnectionError):
            break
    return False


def _owner(folder: Path) -> str:
    """The name of the user that the folder belongs to."""
    try:
        return folder.owner()
    except (KeyError, OSError):
        return "the user of the service"
