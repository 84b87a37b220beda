"""Store and read the files of books, wherever they are stored.

A file outside the database is written before the row that refers to it, and removed after that row is deleted. Callers
pass a pool, so that no connection is held during the transfer; only some commands pass their own connection.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import asyncpg
import structlog

from bookgen.errors import FilesUnavailable
from bookgen.files.opened_places import Places
from bookgen.files.place import FileMissing, FilesRefused
from bookgen.store import exports, media, stored_files
from bookgen.store.database import DB
from bookgen.store.exports import ExportLimits
from bookgen.store.stored_files import FoundFile, NewFile, StoredFile

T = TypeVar("T")

NAME_BYTES = 20
COPIES_AT_ONCE = 4

MAKE_REACHABLE = "Make the folder or bucket reachable. Runs that need it wait and continue by themselves."

log = structlog.get_logger(__name__)


class Files:
    """Stores new files at `address`, or in the database if that is None. Reads each file from where its row says."""

    def __init__(
        self, places: Places | None = None, address: str | None = None, limits: ExportLimits | None = None
    ) -> None:
        self._places = places or Places()
        self._limits = limits or ExportLimits()
        self._lost: set[str] = set()  # the places whose last call failed
        self.address = address

    # Write

    async def keep(self, db: asyncpg.Pool, data: bytes) -> NewFile:
        """Store the content of a picture or export. Returns what its row, which is inserted later, must contain.

        Raises FilesUnavailable.
        """
        return NewFile(data) if self.address is None else NewFile(None, (await self.put(db, self.address, data)).id)

    async def put(self, db: asyncpg.Pool, address: str, data: bytes, *, check: bool = False) -> StoredFile:
        """Write a file to a place. With `check`, read it back and compare. Raises FilesUnavailable.

        If no row refers to the file, it is removed after some days.
        """
        name, digest = secrets.token_hex(NAME_BYTES), await sha256(data)
        file = await stored_files.insert_new(db, address, name, len(data), digest)
        place = self._places.at(address)
        await self._noting_losses(address, place.put_checked(name, data) if check else place.put(name, data))
        return file

    async def copy(self, db: asyncpg.Pool, originals: Sequence[StoredFile]) -> dict[int, NewFile | None]:
        """Copy the files. Returns the copies by the ids of the originals; None for an original that no longer exists.

        Raises FilesUnavailable.
        """
        turns = asyncio.Semaphore(COPIES_AT_ONCE)

        async def one(original: StoredFile) -> NewFile | None:
            async with turns:
                try:
                    return await self.keep(db, await self.get(original))
                except FileMissing:
                    return None

        copies = await asyncio.gather(*map(one, originals))
        return {original.id: copy for original, copy in zip(originals, copies, strict=True)}

    async def discard(self, db: asyncpg.Pool, *files: NewFile | StoredFile) -> None:
        """Mark files for removal. Files that a row refers to are kept."""
        ids = [each.id if isinstance(each, StoredFile) else each.file_id for each in files]
        if outside := [each for each in ids if each is not None]:
            await stored_files.discard(db, outside)

    async def keep_export(self, db: asyncpg.Pool, book_id: int, digest: str, kind: str, body: bytes) -> None:
        """Cache an exported file, and delete the oldest cached files beyond the `ExportLimits`.

        A file that cannot be stored is not cached, and is made again when it is needed.
        """
        try:
            new = await self.keep(db, body)
        except FilesUnavailable:
            return
        if not await exports.keep(db, book_id, digest, kind, new, self._limits):
            await self.discard(db, new)

    # Read

    async def picture(self, db: DB, key: str) -> bytes | None:
        """The picture as JPEG; None if it does not exist. Raises FilesUnavailable."""
        return await self.read(lambda: media.find(db, key))

    async def export(self, db: DB, book_id: int, digest: str) -> bytes | None:
        """The bytes of the cached export; None if it is not cached, or if its place is unreachable."""
        found = False

        async def find() -> FoundFile | None:
            nonlocal found
            row = await exports.find(db, book_id, digest)
            found = found or row is not None
            return row

        try:
            body = await self.read(find)
        except FilesUnavailable:
            return None
        if body is None and found:
            await exports.forget(db, book_id, digest)  # so that the file made instead can be cached
        return body

    async def read(self, find: Callable[[], Awaitable[FoundFile | None]]) -> bytes | None:
        """The bytes of the file that `find` finds, even while it is being moved; None if there is none.

        Raises FilesUnavailable.
        """
        missing = None
        while found := await find():
            if found.file is None:
                return found.body
            if found.file.id == missing:
                log.error(
                    "stored_file_missing",
                    place=found.file.place,
                    name=found.file.name,
                    to_do="If the file is an export, it is made again automatically. If it is a picture, restore the "
                    "file from a backup or delete the picture.",
                )
                return None
            try:
                return await self.get(found.file)
            except FileMissing:
                missing = found.file.id  # probably moved or deleted in the meantime; lost if the row still names it
        return None

    async def get(self, file: StoredFile) -> bytes:
        """The bytes of a file outside the database. Raises FileMissing and FilesUnavailable."""
        return await self._noting_losses(file.place, self._places.at(file.place).get(file.name))

    async def delete(self, file: StoredFile) -> None:
        await self._noting_losses(file.place, self._places.at(file.place).delete(file.name))

    async def check_place(self, address: str | None, samples: Callable[[], Awaitable[Sequence[StoredFile]]]) -> None:
        """Check that the place at `address` can store files and still has its newest file.

        Raises FilesUnavailable if not. If no file is stored there according to the database, a missing folder is
        created. `samples` returns the newest file of each place. None as `address` (the database) needs no check.
        """
        if address is None:
            return
        place = self._places.at(address)
        known = [each for each in await samples() if each.place == address]
        if not known:
            await place.prepare()
        for each in known:
            try:
                await place.get(each.name)
            except FileMissing:
                if each in await samples():  # it was not deleted in the meantime
                    raise FilesRefused(
                        f"The file {each.name} should be stored in {address}, but is not there. If {address} is a "
                        "folder, check that it is mounted."
                    ) from None
        await place.check()

    async def _noting_losses(self, address: str, call: Awaitable[T]) -> T:
        """Await the call. Log once when the place becomes unreachable, and once when it is reachable again."""
        try:
            result = await call
        except FilesUnavailable as error:
            if address not in self._lost:
                log.error(
                    "files_unreachable",
                    place=address,
                    reason=error.reason,
                    to_do=MAKE_REACHABLE,
                )
            self._lost.add(address)
            raise
        if address in self._lost:
            self._lost.discard(address)
            log.info("files_reachable", place=address)
        return result


async def sha256(data: bytes) -> bytes:
    """The SHA-256 digest, computed in a thread, because a large file takes tens of milliseconds."""
    return await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
