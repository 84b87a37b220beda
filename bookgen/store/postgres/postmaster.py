"""One PostgreSQL server process: whether it lives, how it is started and stopped."""

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

from bookgen.store.postgres.account import Runner

LOG_BYTES = 10_000_000
STOP_SECONDS = 30
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass
class Postmaster:
    """The server of the cluster in `data`, whoever started it. Only the process that did can stop it."""

    programs: Path
    data: Path
    sockets: Path
    log: Path
    runner: Runner
    settings: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def ready(self) -> bool:
        lines = self._pid_file()
        return len(lines) > 7 and lines[7].strip() == "ready" and self.alive()

    def starting(self) -> bool:
        """Alive, or ours and not yet far enough to have said so."""
        return self.alive() or (self._process is not None and self._process.poll() is None)

    def alive(self) -> bool:
        """A pid file may be stale, and its pid may be another program's by now."""
        if self._process is not None:
            self._process.poll()  # reaps it: a zombie answers signals
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
        """Start the server; False while processes of another one still hold the cluster.

        Call it on the main thread: the kernel's death signal fires when the *thread* that forked ends.
        """
        with self._claim() as claim:
            if claim is not None:
                self._spawn(claim)
        return claim is not None

    def stop(self) -> None:
        """End the server if it is ours: fast, or at once when that takes too long."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(STOP_SECONDS)
        with self._claim() as claim, contextlib.suppress(OSError):
            if claim is not None:  # nobody is about to start the next one
                self.sockets.rmdir()

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if "FATAL" in line), f"see {self.log}")

    @contextlib.contextmanager
    def _claim(self) -> Iterator[int | None]:
        """A lock on the cluster, or None. The server and its children inherit it, so it is held as long as any of
        them lives, also in a container from which its pid can't be seen: two servers would ruin the cluster."""
        descriptor = os.open(self.data.with_name("pg.claim"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield descriptor
        except BlockingIOError:
            yield None
        finally:
            os.close(descriptor)

    def _spawn(self, claim: int) -> None:
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        self.runner.private_folder(self.sockets)  # what cleans temporary folders may have taken it
        big = self.log.exists() and self.log.stat().st_size > LOG_BYTES
        with self.log.open("wb" if big else "ab") as output, self.runner.reaching(self.data) as (path, descriptors):
            self._process = subprocess.Popen(
                [str(self.programs / "postgres"), "-D", path, "-k", str(self.sockets), "-p", "5432", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                start_new_session=True,  # Ctrl-C in the terminal must not reach the server before we have drained
                preexec_fn=functools.partial(_begin, os.getpid()),
                pass_fds=(claim, *descriptors),
                **self.runner.credentials,
            )

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []


def _begin(parent: int) -> None:
    """Runs between fork and exec. The server's processes are batch processes: one that a statement wakes takes a core
    that is free, but does not push the event loop off its own in mid-turn."""
    die_with_parent(parent, signal.SIGINT)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may not allow it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def die_with_parent(parent: int, with_signal: signal.Signals) -> None:
    """Runs between fork and exec: the child gets the signal when the parent goes, however it goes."""
    if _libc is not None:
        _libc.prctl(1, with_signal)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
