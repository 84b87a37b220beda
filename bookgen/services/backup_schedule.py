"""Scheduled backups: `bookgen backup` in a separate process, run by one server at a time."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Container, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import structlog

from bookgen import metrics
from bookgen.errors import StartupError, Unavailable
from bookgen.processes import STEPS_BACK
from bookgen.store import backups
from bookgen.store.database import connect_unbounded

LOOK_SECONDS = 60.0
RETRY_SECONDS = 900.0  # after a failure, unless backups are made more often
ALIVE_SECONDS = 30.0  # between two queries that keep the connection with the claim open
END_SECONDS = 10.0
INCOMPLETE = 3  # the exit code of `bookgen backup` if stored pictures are missing, so the backup lacks them
NAME = re.compile(r"bookgen-\d{8}T\d{6}Z\.backup")
PARTIAL = ".partial"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """The folder of scheduled backups, the seconds from one backup to the next, and how many backups are kept."""

    folder: Path
    every: float
    keep: int


class BackupSchedule:
    """Makes a backup if the newest verified backup in the folder is too old, and then deletes the oldest backups."""

    def __init__(
        self,
        direct_dsn: str,
        plan: BackupPlan,
        may_begin: Callable[[], bool],
        shortage: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Back up the database at `direct_dsn` as described by `plan`.

        `may_begin`: whether this process may start work, so that other processes see it as alive and it is not shutting
        down. `shortage`: why the data folder's disk has no room for a copy of the database, which is needed to verify a
        backup; None if it has room.
        """
        self._dsn = direct_dsn
        self._plan = plan
        self._may_begin = may_begin
        self._shortage = shortage
        self._not_before = 0.0

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A context in which scheduled backups are made. A backup in progress at the end is aborted."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except (StartupError, Unavailable, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                self._failed(str(error))
            except Exception:
                log.exception(
                    "backup_not_begun",
                    to_do="The backup is tried again in a minute. If this repeats, report the traceback as a bug.",
                )
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Make a backup if one is due and no other process is making one."""
        if not self._may_begin() or time.monotonic() < self._not_before:
            return
        connection = await connect_unbounded(self._dsn)
        try:
            folder = str(self._plan.folder.absolute())
            # In this order: the process that had the claim before may have made the backup that was due.
            if await backups.claim(connection) and await backups.is_due(connection, folder, self._plan.every):
                if reason := self._shortage():
                    self._failed(reason)
                else:
                    await self._make(connection)
        finally:
            await connection.close()

    async def _make(self, connection: asyncpg.Connection) -> None:
        began, folder = time.monotonic(), self._plan.folder.absolute()
        path = folder / f"bookgen-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup"
        with _explained(folder):
            await asyncio.to_thread(_prepare, folder)
        code, errors = await self._backed_up(path, connection)
        if code == INCOMPLETE:
            metrics.BACKUPS.labels("incomplete").inc()
            log.error(
                "backup_incomplete",
                file=str(path),
                reason=errors,
                to_do="Put the missing files back, or delete the pictures. Everything else is in the backup.",
            )
            # The complete backups may have what is missing, so only incomplete ones are deleted.
            lacking = {Path(file) for file in await backups.incomplete(connection, str(folder))}
            with _explained(folder):
                await asyncio.to_thread(rotate, folder, self._plan.keep, path, lacking)
            return
        if code:
            self._failed(errors)
            return
        with _explained(folder):
            deleted = await asyncio.to_thread(rotate, folder, self._plan.keep, path)
        metrics.BACKUPS.labels("ok").inc()
        log.info("backup_made", file=str(path), seconds=round(time.monotonic() - began, 1), deleted=len(deleted))

    async def _backed_up(self, path: Path, connection: asyncpg.Connection) -> tuple[int, str]:
        """Run `bookgen backup`. Returns its exit code and what it wrote to standard error."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bookgen", "backup", str(path), "--without-missing",
            stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, start_new_session=True,
        )  # fmt: skip
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, STEPS_BACK)
        answer = asyncio.create_task(process.communicate())
        try:
            while not answer.done():
                await asyncio.wait([answer], timeout=ALIVE_SECONDS)
                if not answer.done():
                    await connection.execute("SELECT 1")
            return process.returncode or 0, answer.result()[1].decode(errors="replace").strip()
        finally:
            await _ended(process)
            answer.cancel()
            with contextlib.suppress(OSError):
                path.with_name(path.name + PARTIAL).unlink()  # of a command that had to be killed

    def _failed(self, reason: str) -> None:
        self._not_before = time.monotonic() + min(RETRY_SECONDS, self._plan.every)
        metrics.BACKUPS.labels("failed").inc()
        log.error(
            "backup_failed",
            folder=str(self._plan.folder),
            reason=reason,
            to_do="Remove the cause that `reason` names. The backup is tried again within 15 minutes.",
        )


async def _ended(process: Process) -> None:
    """Interrupt the process as Ctrl-C does, so that it removes its partial files. Kill it if it does not end soon."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn an OSError into a StartupError that says why the folder BOOKGEN_BACKUP_DIR can't be used."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = f"{next(each for each in (folder, *folder.parents) if each.exists())} is not a folder"
        raise StartupError(f"BOOKGEN_BACKUP_DIR={folder} can't be used: {reason}.") from error


def _prepare(folder: Path) -> None:
    """Create the folder, and delete partial backups that killed processes left in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in folder.glob(f"*{PARTIAL}"):
        if NAME.fullmatch(left.name.removesuffix(PARTIAL)):
            with left.open("rb") as file, contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink(missing_ok=True)


def rotate(folder: Path, keep: int, newest: Path, only: Container[Path] | None = None) -> list[Path]:
    """Delete all scheduled backups except the `keep` newest, but never `newest`. Returns the deleted files.

    `only`: if it is not None, only these backups count and may be deleted. Call it only after `newest` was verified.
    """
    ours = sorted(
        path
        for path in folder.iterdir()
        if NAME.fullmatch(path.name) and path != newest and (only is None or path in only)
    )
    old = ours[: len(ours) - (keep - 1)] if len(ours) >= keep else []
    for path in old:
        path.unlink(missing_ok=True)
    return old
