"""Removes what is no longer needed: files that no picture or export refers to, and old exports and covers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg
import structlog

from bookgen.errors import FilesUnavailable, Unavailable
from bookgen.files.keeping import Files
from bookgen.store import covers, exports, stored_files

EVERY_SECONDS = 60.0
COVERS_EVERY = 60  # old covers are deleted in every 60th round only, because this reads all covers
MAX_BATCHES = 200  # per round, so that one kind of row does not keep the others waiting

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class KeepTimes:
    """How long exports are kept, how many unselected covers each book keeps, and for how long. None: no limit."""

    export_seconds: float | None = None
    covers: int | None = None
    cover_seconds: float | None = None


class FileCleanup:
    def __init__(self, db: asyncpg.Pool, files: Files, times: KeepTimes) -> None:
        self._db, self._files, self._times = db, files, times

    async def run(self) -> None:
        """Delete old rows and unused files every EVERY_SECONDS, until cancelled."""
        rounds = 0
        while True:
            try:
                await self.forget_old(with_covers=rounds % COVERS_EVERY == 0)
                await sweep(self._db, self._files)
            except Unavailable as outage:
                log.warning("files_not_swept", reason=str(outage))
            except Exception:
                log.exception(
                    "files_not_swept",
                    to_do="The cleanup of stored files is tried again in a minute. If this repeats, report the "
                    "traceback as a bug.",
                )
            rounds += 1
            await asyncio.sleep(EVERY_SECONDS)

    async def forget_old(self, *, with_covers: bool) -> None:
        """Delete the rows of old exports and, if `with_covers`, of unselected covers that are too old or too many."""
        times = self._times
        if (seconds := times.export_seconds) is not None:
            await _in_batches(lambda: exports.forget_older(self._db, seconds))
        if with_covers and (times.covers is not None or times.cover_seconds is not None):
            await _in_batches(lambda: covers.forget_unselected(self._db, times.covers, times.cover_seconds))


async def _in_batches(delete: Callable[[], Awaitable[int]]) -> None:
    """Call `delete`, which deletes a batch, until nothing is left to delete, but at most MAX_BATCHES times."""
    for _ in range(MAX_BATCHES):
        if not await delete():
            return


async def sweep(db: asyncpg.Pool, files: Files) -> int:
    """Remove the files that are no longer used, and return how many were removed.

    The row of a file is deleted after the file. After a crash between the two, the file is removed again. Files in a
    place that cannot be reached stay until the next sweep.
    """
    await stored_files.mark_abandoned(db)
    gone, after, lost = 0, 0, set[str]()
    while batch := await stored_files.unused(db, after):
        for file in batch:
            after = file.id
            if file.place in lost:
                continue
            try:
                await files.delete(file)
            except FilesUnavailable:
                lost.add(file.place)
                continue
            await stored_files.forget(db, file.id)
            gone += 1
    return gone
