"""Move all files to another place while the service runs. If a move is killed, the next one continues it.

Each file is written to its new place, read back and compared. Then its row is changed to name the new place. Only after
that is the old file removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import asyncpg
import structlog

from bookgen.files.cleanup import sweep
from bookgen.files.keeping import Files, sha256
from bookgen.files.place import FileMissing
from bookgen.store import exports, file_moves, stored_files
from bookgen.store.file_moves import Movable, MovableExport
from bookgen.store.stored_files import StoredFile

AT_ONCE = 8
PASSES = 3  # no more, because the service may go on storing files at the old place

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Move:
    """The progress of a move: `files` of `of_files` files, and `bytes` of `of_bytes` bytes, have been moved.

    `missing`: the files of pictures that can't be moved, because they are missing or damaged.
    """

    of_files: int
    of_bytes: int
    files: int = 0
    bytes: int = 0
    missing: list[StoredFile] = field(default_factory=list)


class Mover:
    """Moves files to the place `target`, or into the database if it is None."""

    def __init__(self, db: asyncpg.Pool, files: Files, target: str | None, report: Callable[[Move], None]) -> None:
        """`report` is called with the progress after each file."""
        self._db, self._files, self._target, self._report = db, files, target, report

    async def run(self) -> Move:
        """Move all files that are not at the target. Raises FilesUnavailable if a place can't be reached."""
        move = Move(*await file_moves.elsewhere(self._db, self._target))
        for _ in range(PASSES):
            before, move.missing = move.files, []
            async for batch in self._batches():
                await self._move_batch(batch, move)
                await sweep(self._db, self._files)
            if move.files == before:
                break
        await sweep(self._db, self._files)
        return move

    async def _batches(self) -> AsyncIterator[Sequence[Movable]]:
        key = ""
        while pictures := await file_moves.pictures(self._db, self._target, key):
            yield pictures
            key = pictures[-1].key
        place = (0, "")
        while found := await file_moves.exported(self._db, self._target, place):
            yield found
            place = (found[-1].book_id, found[-1].digest)

    async def _move_batch(self, batch: Sequence[Movable], move: Move) -> None:
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(each: Movable) -> None:
            async with turns:
                moved = await self._move_file(each)
            if moved is False and each.file:
                move.missing.append(each.file)
            if moved:
                move.files += 1
                move.bytes += each.bytes
            self._report(move)

        outcomes = await asyncio.gather(*map(one, batch), return_exceptions=True)
        if errors := [each for each in outcomes if isinstance(each, BaseException)]:
            raise errors[0]

    async def _move_file(self, each: Movable) -> bool | None:
        """Move one file. Returns True if it was moved, and False if it is missing or damaged.

        Returns None if someone else has deleted or moved it in the meantime.
        """
        body = await self._read(each)
        if body is None:
            return await self._unreadable(each)
        if self._target is None:
            if each.file is None:
                return None
            return True if await stored_files.into_row(self._db, each.file.id, body) else await self._unreadable(each)
        written = await self._files.put(self._db, self._target, body, check=True)
        if await file_moves.to_file(self._db, each, written.id):
            return True
        await self._files.discard(self._db, written)
        return None

    async def _read(self, each: Movable) -> bytes | None:
        """The bytes of the file; None if it is missing or its digest is wrong."""
        if each.file is None:
            found = await file_moves.find(self._db, each)
            return found.body if found else None
        try:
            body = await self._files.get(each.file)
        except FileMissing:
            return None
        return body if await sha256(body) == each.file.sha256 else None

    async def _unreadable(self, each: Movable) -> bool | None:
        found = await file_moves.find(self._db, each)
        if found is None or found.file is None or found.file != each.file:
            return None
        if isinstance(each, MovableExport):  # it can be made again
            await exports.forget(self._db, each.book_id, each.digest)
            return None
        log.error(
            "stored_file_damaged",
            place=found.file.place,
            name=found.file.name,
            to_do="Restore the picture's file from a backup, or delete the picture.",
        )
        return False
