"""Backs up and restores the files of books that are stored outside the database."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from bookgen.durable import sync_folder
from bookgen.errors import Conflict, FilesUnavailable
from bookgen.files.keeping import NAME_BYTES, Files, sha256
from bookgen.files.opened_places import Places
from bookgen.files.place import FileMissing, FilePlace
from bookgen.store import stored_files
from bookgen.store.backup.frames import FrameWriter
from bookgen.store.backup.taking import write_stored
from bookgen.store.stored_files import StoredFile


@dataclass(slots=True)
class OutsideFiles:
    """What `write_outside` did. `written`: the number of files. `missing`: a sentence for each picture left out.

    `books`: the ids of the books that lack a picture.
    """

    written: int = 0
    missing: list[str] = field(default_factory=list)
    books: set[int | None] = field(default_factory=set)


async def write_outside(
    frames: FrameWriter,
    connection: asyncpg.Connection,
    files: Files,
    used: Mapping[StoredFile, bool],
    *,
    without_missing: bool,
) -> OutsideFiles:
    """Write the files into the backup. `used`: the files, and whether each can be made again, as an export can.

    A file that can be made again is left out if it is missing or damaged. For any other file, this raises Conflict, or
    with `without_missing` notes it in the result.
    """
    outside = OutsideFiles()
    for file, can_be_made_again in used.items():
        try:
            content = await files.get(file)
            wrong = "" if await sha256(content) == file.sha256 else "damaged"
        except FileMissing:
            wrong = "missing"
        if not wrong:
            await write_stored(frames, file, content)
            outside.written += 1
        elif not can_be_made_again:
            book = await stored_files.book_of(connection, file.id)
            sentence = f"A picture of book {book} is {wrong}: {file.name} in {file.place}."
            if not without_missing:
                raise Conflict(
                    f"{sentence} Put the file back, or delete the picture, then make the backup again. Or back up "
                    "everything else with --without-missing."
                )
            outside.missing.append(sentence)
            outside.books.add(book)
    return outside


class StoredTarget:
    """Stores the files of a backup that is being restored: in `place`, or in the database if it is None.

    In `place`, the files get new names, so that two databases never share a file. The file `journal` lists these names
    for `undo`.
    """

    def __init__(self, connection: asyncpg.Connection, place: FilePlace | None, journal: Path) -> None:
        self._connection, self._place, self._journal = connection, place, journal
        self._names: dict[int, str] = {}

    async def take(self, file_id: int, content: bytes) -> None:
        """Store one file. With a `place`, `settle` updates its row later; without one, the row gets the content now."""
        if self._place is None:
            await stored_files.into_row(self._connection, file_id, content)
            return
        name = self._names[file_id] = secrets.token_hex(NAME_BYTES)
        await asyncio.to_thread(_note, self._journal, f"{name} {self._place.address}")
        await self._place.put_checked(name, content)

    async def settle(self) -> None:
        """Update the rows with the new places of the files. Rows of files that are not in the backup are deleted."""
        address = self._place.address if self._place else ""
        await stored_files.restored(self._connection, address, self._names)


async def undo(journal: Path, places: Places) -> None:
    """Remove the files that a restore stored before it failed or was killed."""
    with contextlib.suppress(FileNotFoundError):
        for line in (await asyncio.to_thread(journal.read_text)).splitlines():
            name, _, address = line.partition(" ")
            with contextlib.suppress(FilesUnavailable):
                await places.at(address).delete(name)


def forget(journal: Path) -> None:
    """Remove the journal once the restored database is committed, so that `undo` cannot remove its files."""
    journal.unlink(missing_ok=True)
    sync_folder(journal.parent)


def _note(journal: Path, line: str) -> None:
    with journal.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
