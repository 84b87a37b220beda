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
    """The result of `write_outside`. `written`: how many files were written into the backup.

    `missing`: a sentence for each picture that was left out. `books`: the ids of the books that lack a picture.
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
    """Write the files into the backup. `used`: for each file, whether it can be made again (only exports can).

    A missing or damaged file is left out if it can be made again. Otherwise this raises Conflict or, with
    `without_missing`, reports the file in the result.
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
    """Where a restore puts the files of books: in the folder or bucket `place`, or in the database if `place` is None.

    In `place`, the files get new names, so that two databases never share a file. The file `journal` lists these names,
    so that `undo` can find the files.
    """

    def __init__(self, connection: asyncpg.Connection, place: FilePlace | None, journal: Path) -> None:
        self._connection, self._place, self._journal = connection, place, journal
        self._names: dict[int, str] = {}

    async def take(self, file_id: int, content: bytes) -> None:
        """Store one file: in `place`, or in its row of the database if there is no `place`."""
        if self._place is None:
            await stored_files.into_row(self._connection, file_id, content)
            return
        name = self._names[file_id] = secrets.token_hex(NAME_BYTES)
        await asyncio.to_thread(_note, self._journal, f"{name} {self._place.address}")
        await self._place.put_checked(name, content)

    async def settle(self) -> None:
        """Record in the database where the files are now.

        A picture whose file is not in the backup is marked as lost. An export without its file is deleted.
        """
        address = self._place.address if self._place else ""
        await stored_files.restored(self._connection, address, self._names)


async def undo(journal: Path, places: Places) -> None:
    """Remove the files that a failed or killed restore has stored. The `journal` lists them."""
    with contextlib.suppress(FileNotFoundError):
        for line in (await asyncio.to_thread(journal.read_text)).splitlines():
            name, _, address = line.partition(" ")
            with contextlib.suppress(FilesUnavailable):
                await places.at(address).delete(name)


def forget(journal: Path) -> None:
    """Delete the journal. Call this before the commit: `undo` must never remove files of a restored database."""
    journal.unlink(missing_ok=True)
    sync_folder(journal.parent)


def _note(journal: Path, line: str) -> None:
    with journal.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
