"""The files of books that are outside the database, in a backup and on the way back."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import asyncpg

from bookgen.errors import Conflict, FilesUnavailable
from bookgen.files.keeping import NAME_BYTES, Files, sha256
from bookgen.files.place import FileMissing, FilePlace
from bookgen.files.places import Places
from bookgen.store import stored_files
from bookgen.store.backup.frames import FrameWriter
from bookgen.store.backup.taking import write_stored
from bookgen.store.stored_files import StoredFile


async def write_outside(
    frames: FrameWriter, connection: asyncpg.Connection, files: Files, used: Mapping[StoredFile, bool]
) -> int:
    """Write the files into the backup, and return how many. Raises Conflict if a picture is missing or damaged.

    An export that is missing is left out: it can be made again.
    """
    written = 0
    for file, can_be_made_again in used.items():
        try:
            content = await files.get(file)
            wrong = "" if await sha256(content) == file.sha256 else "damaged"
        except FileMissing:
            wrong = "missing"
        if not wrong:
            await write_stored(frames, file, content)
            written += 1
        elif not can_be_made_again:
            book = await stored_files.book_of(connection, file.id)
            raise Conflict(
                f"A picture of book {book} is {wrong}: {file.name} in {file.place}. Put the file back, or delete the "
                "picture, then make the backup again."
            )
    return written


class StoredTarget:
    """Where restored files go: into their rows if there is no place, else to the place under new names.

    The names are new so that no two databases ever share a file. `journal` has them, for `undo`.
    """

    def __init__(self, connection: asyncpg.Connection, place: FilePlace | None, journal: Path) -> None:
        self._connection, self._place, self._journal = connection, place, journal
        self._names: dict[int, str] = {}

    async def take(self, file_id: int, content: bytes) -> None:
        """Put one file. Its row changes with `settle`, or at once if it takes the bytes."""
        if self._place is None:
            await stored_files.restore_into_row(self._connection, file_id, content)
            return
        name = self._names[file_id] = secrets.token_hex(NAME_BYTES)
        await asyncio.to_thread(_note, self._journal, f"{name} {self._place.address}")
        await self._place.put(name, content)
        if hashlib.sha256(await self._place.get(name)).digest() != hashlib.sha256(content).digest():
            raise Conflict(f"{self._place.address} does not give back what was written to it.")

    async def settle(self) -> None:
        """Let the rows say where the files are now. Rows of files that are not in the backup go."""
        address = self._place.address if self._place else ""
        await stored_files.restored(self._connection, address, self._names)


async def undo(journal: Path, places: Places) -> None:
    """Remove the files that a restore has put before it failed or was killed."""
    with contextlib.suppress(FileNotFoundError):
        for line in (await asyncio.to_thread(journal.read_text)).splitlines():
            name, _, address = line.partition(" ")
            with contextlib.suppress(FilesUnavailable):
                await places.at(address).delete(name)


def _note(journal: Path, line: str) -> None:
    with journal.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
