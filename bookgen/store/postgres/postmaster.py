"""One PostgreSQL server process: checking, starting and stopping it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bookgen.store.postgres import sockets
from bookgen.store.postgres.account import Runner
from bookgen.store.postgres.keyfile import open_beside

LOG_BYTES = 10_000_000
STOP_SECONDS = 30
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass
class Postmaster:
    """The server of the cluster in `data`. Any process may start the server, but only that process can stop it."""

    programs: Path
    data: Path
    sockets: Path
    log: Path
    runner: Runner
    settings: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _log_start: int = field(default=0, init=False)

    def ready(self) -> bool:
        """Whether the server accepts connections."""
        lines = self._pid_file()
        return len(lines) > 7 and lines[7].strip() == "ready" and self.alive()

    def starting(self) -> bool:
        """Whether the server runs, or this process has started it and it has not written its pid file yet."""
        return self.alive() or (self._process is not None and self._process.poll() is None)

    def alive(self) -> bool:
        """Whether the pid file names a live server of this cluster, and not another program that reused the pid."""
        if self._process is not None:
            self._process.poll()  # reaps a dead child, because os.kill succeeds on a zombie
        try:
            pid = int(self._pid_file()[0])
            os.kill(pid, 0)
        except PermissionError:
            pass
        except (OSError, ValueError, IndexError):
            return False
        try:
            return sys.platform != "linux" or Path(f"/proc/{pid}/cwd").samefile(self.data)
        except OSError:
            return False

    def spawn(self) -> bool:
        """Start the server. Returns False while processes of another server still hold the cluster.

        Call it on the main thread: the kernel sends the death signal when the *thread* that forked ends.
        """
        with self._claim() as claim:
            if claim is not None:
                self._spawn(claim)
        return claim is not None

    def stop(self) -> None:
        """Stop the server if this process started it: a fast shutdown, then an immediate one after STOP_SECONDS."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(STOP_SECONDS)

    def last_words(self) -> str:
        """The last fatal error of the newest start in the server's log, or a pointer to the log."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)  # the lines before it are from earlier starts
            lines = file.read().decode(errors="replace").splitlines()
        fatal = [line for line in lines if "FATAL" in line or "PANIC" in line]
        return fatal[-1] if fatal else f"see {self.log}"

    def adopt_socket(self) -> str:
        """Use the socket folder of the running server, wherever it is. Returns a path to that folder for this process.

        Older versions of bookgen put the socket into a temporary folder. If the server is started again, its socket
        must stay there, because other processes connect to that path.
        """
        lines = self._pid_file()
        told = Path(lines[4].strip() if len(lines) > 4 else "")
        if told.is_absolute() and not told.is_relative_to("/proc") and told.is_dir():
            self.sockets = told
        return sockets.address(self.sockets)

    @contextlib.contextmanager
    def _claim(self) -> Iterator[int | None]:
        """A context that locks the cluster, so that no second server starts on it.

        Yields the descriptor of the lock file, or None if the cluster is already locked. The server and its children
        inherit the descriptor, so the lock is held while any of them lives. This also works across containers, where a
        pid cannot be checked.
        """
        descriptor = open_beside(self.data.with_name("pg.claim"), os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield descriptor
        except BlockingIOError:
            yield None
        finally:
            os.close(descriptor)

    def _spawn(self, claim: int) -> None:
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        self._make_socket_folder()
        big = self.log.exists() and self.log.stat().st_size > LOG_BYTES
        short = not sockets.is_addressable(self.sockets)
        with (
            os.fdopen(open_beside(self.log, os.O_WRONLY | os.O_APPEND), "ab") as output,
            self.runner.reaching(self.data) as (data, descriptors),
            self.runner.reaching(self.sockets, short=short) as (socket, others),
        ):
            if big:
                output.truncate(0)
            self._log_start = os.fstat(output.fileno()).st_size
            self._process = subprocess.Popen(
                [str(self.programs / "postgres"), "-D", data, "-k", socket, "-p", "5432", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                start_new_session=True,  # Ctrl-C in the terminal must not reach the server before we have drained
                preexec_fn=functools.partial(_begin, os.getpid()),
                pass_fds=(claim, *descriptors, *others),
                **self.runner.credentials,
            )

    def _make_socket_folder(self) -> None:
        """Create the folder. Users who may read the data folder may enter it; the server requires a password.

        The socket and the lock file of a killed server are removed. Otherwise PostgreSQL would not start if another
        process now has the process id in the lock file.
        """
        shared = self.data.parent.stat().st_mode & 0o055 if self.sockets.parent == self.data.parent else 0
        self.runner.private_folder(self.sockets, 0o700 | shared)
        for name in (sockets.NAME, f"{sockets.NAME}.lock"):
            (self.sockets / name).unlink(missing_ok=True)

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []


def _begin(parent: int) -> None:
    """Prepare the server's process, between fork and exec.

    Its scheduling policy is batch: a server process that a statement wakes up uses a free core, but does not preempt
    the event loop.
    """
    die_with_parent(parent, signal.SIGINT)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may not allow it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def die_with_parent(parent: int, with_signal: signal.Signals) -> None:
    """Have the kernel send the signal to this process when its parent ends. Call it between fork and exec."""
    if _libc is not None:
        _libc.prctl(1, with_signal)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
