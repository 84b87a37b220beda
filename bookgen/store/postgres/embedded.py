"""A private PostgreSQL server in the data folder, with programs from a wheel or the system.

The server dies with the process that started it. Every process that uses the folder watches the server, and the first
one that finds it gone starts it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from urllib.parse import quote

import asyncpg

from bookgen.errors import NoDatabase, StartupError
from bookgen.store.postgres import binaries, roles, sockets
from bookgen.store.postgres.account import Runner
from bookgen.store.postgres.keyfile import kept_secret, open_beside
from bookgen.store.postgres.postmaster import Postmaster
from bookgen.store.postgres.sockets import socket_folder
from bookgen.store.postgres.space import make_data_folder

log = logging.getLogger(__name__)

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",  # its folder and a password guard it
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
START_SECONDS = 300.0  # for a long crash recovery
CLAIM_SECONDS = 20.0  # the children of a killed server end much sooner
SPAWNS = 7
FIRST_REST_SECONDS, MAX_REST_SECONDS = 0.1, 5.0  # the pause before a server that has just ended is started again
PAUSE_SECONDS = 0.05
WATCH_SECONDS = 0.2


class EmbeddedPostgres:
    """The embedded server. Several processes may share it, but only the one that started it stops it."""

    def __init__(
        self, data_dir: Path, bindir: Path | None = None, *, settings: Mapping[str, str] | None = None
    ) -> None:
        self._root = data_dir.resolve()
        self._bindir = bindir
        self._settings = {**SETTINGS, **(settings or {})}
        self._watch: asyncio.Task[None] | None = None
        self._server: Postmaster | None = None
        self.superuser_dsn = ""

    async def start(self, *, create: bool = True) -> str:
        """Start the server, or join the one already running on this folder. Returns the service's DSN.

        Call it on the main thread's event loop. Without `create` it raises NoDatabase where there is no database yet,
        and needs no more than to read the folder while another process runs the server.
        """
        if not create and (dsn := await self._joined()):
            return dsn
        await asyncio.to_thread(make_data_folder, self._root)
        password = await asyncio.to_thread(kept_secret, self._root / SUPERUSER_PASSWORD)
        own_password = await asyncio.to_thread(kept_secret, self._root / SERVICE_PASSWORD)
        if self._server is None:
            self._server = await asyncio.to_thread(self._prepare)
        server = self._server
        async with self._lock():
            await asyncio.to_thread(_init_cluster, server, password)
            await self._bring_up(server)
            address = server.keep_socket()
            self.superuser_dsn = _dsn(roles.SUPERUSER, password, address)
            await roles.give_to_service(self.superuser_dsn, own_password)
        self._watch = asyncio.create_task(self._keep_running(server))
        return _dsn(roles.SERVICE, own_password, address)

    async def _joined(self) -> str | None:
        """The DSN of the server that another process runs on this folder, or None if none answers."""
        try:
            require_cluster(self._root)
            folder = socket_folder(self._root)
            if (folder / sockets.NAME).exists():
                dsn = _dsn(roles.SERVICE, kept_secret(self._root / SERVICE_PASSWORD), sockets.address(folder))
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

    def _prepare(self) -> Postmaster:
        wanted = _cluster_major(self._root)
        runner = Runner.for_folder(self._root / f"pg{wanted}", self._root)
        bindir = binaries.find(self._bindir, wanted)
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
        """A file lock, so that one process at a time starts the server. The kernel frees it even after a kill -9."""
        path = self._root / "pg.lock"
        with os.fdopen(await asyncio.to_thread(open_beside, path, os.O_WRONLY), "w") as file:
            async for _ in _until(START_SECONDS, f"another process keeps {path} locked"):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
            yield

    async def _bring_up(self, server: Postmaster, rest: float = FIRST_REST_SECONDS) -> None:
        spawned, began, rested = 0, time.monotonic(), 0.0
        async for _ in _until(START_SECONDS, f"PostgreSQL did not start; see {server.log}"):
            if server.ready():
                return
            if server.starting():
                continue
            if spawned == SPAWNS:
                raise StartupError(f"PostgreSQL does not start: {server.last_words()}")
            if time.monotonic() < rested:
                continue
            if server.spawn():
                spawned += 1
                rested, rest = time.monotonic() + rest, min(rest * 2, MAX_REST_SECONDS)
            elif spawned == 0 and time.monotonic() - began > CLAIM_SECONDS:
                raise StartupError(
                    f"another PostgreSQL, perhaps in another container, is running on {server.data}. "
                    "Stop it, or give this process its own data folder."
                )

    async def _keep_running(self, server: Postmaster) -> None:
        rest = FIRST_REST_SECONDS
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if server.alive():
                continue
            log.warning("postgres is gone; starting it again")
            try:
                async with self._lock():
                    await self._bring_up(server, rest)
                rest = FIRST_REST_SECONDS
            except Exception as error:
                log.error(
                    "postgres could not be started again: %s", error, exc_info=not isinstance(error, StartupError)
                )
                rest = MAX_REST_SECONDS


def require_cluster(root: Path) -> None:
    """Raise NoDatabase if the data folder has no database."""
    if _cluster_major(root) is None:
        raise NoDatabase(
            f"There is no database in {root.resolve()}. Set BOOKGEN_DATA_DIR to the data folder of the service, or "
            "start the service first."
        )


def _init_cluster(server: Postmaster, password: str) -> None:
    if (server.data / "PG_VERSION").exists():
        return
    # Created under another name and renamed, so that an interrupted initdb leaves no partial cluster.
    new = server.runner.empty_folder(server.data.with_suffix(".new"))
    locale = ["--locale-provider=builtin"] if binaries.major(server.programs) >= 17 else []
    with tempfile.TemporaryDirectory() as aside:
        file = Path(aside) / "password"
        file.write_text(password)
        server.runner.own(file)
        server.runner.own(Path(aside))
        options = ["-U", roles.SUPERUSER, "-E", "UTF8", *locale, "--locale=C.UTF-8", "--auth=scram-sha-256"]
        options += [f"--pwfile={file}", "--no-instructions"]
        with server.runner.reaching(new) as (path, descriptors):
            server.runner.run([str(server.programs / "initdb"), "-D", path, *options], descriptors)
    new.rename(server.data)


def _dsn(role: str, password: str, folder: str) -> str:
    return f"postgresql://{role}:{quote(password)}@/postgres?host={quote(folder)}&port=5432"


async def _answers(dsn: str) -> bool:
    """Whether a server is there. One that is starting or stopping is waited for."""
    async for _ in _until(START_SECONDS, "PostgreSQL did not finish its start"):
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


def has_cluster(root: Path) -> bool:
    """Whether the data folder has a database."""
    return _cluster_major(root) is not None


def _cluster_major(root: Path) -> int | None:
    """The major version of the cluster in the folder, or None. Only programs of that version can open it."""
    if not root.exists():
        return None
    clusters = [int(path.name[2:]) for path in root.iterdir() if re.fullmatch(r"pg\d+", path.name)]
    return max(clusters, default=None)


async def _until(seconds: float, otherwise: str) -> AsyncIterator[None]:
    """Yield every PAUSE_SECONDS until `seconds` are over, then raise StartupError with the text `otherwise`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        await asyncio.sleep(PAUSE_SECONDS)
    raise StartupError(otherwise)
