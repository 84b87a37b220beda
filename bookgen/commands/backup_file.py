"""Creates, opens and reads backup files, for the commands `backup` and `restore`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import asyncpg

from bookgen.commands.backup_stored import StoredTarget
from bookgen.durable import sync_folder
from bookgen.errors import Conflict, InvalidInput, StartupError
from bookgen.settings import Config, reveal
from bookgen.store.backup.frames import FrameKind, FrameReader
from bookgen.store.backup.restoring import Contents, read_manifest, restore_rows, restore_sequences
from bookgen.store.backup.sealed import SealedReader
from bookgen.store.postgres.clusters import has_cluster

SECRET_KEY = "secret.key"
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
# Keys and certificates that the service has made, and mail that it stored because no mail server is set.
FILES = ("*.key*", "*.pem*", "outbox/*.eml")


def files_of(settings: Config) -> dict[str, bytes | None]:
    """The files of the data folder that belong in a backup, by their paths relative to the data folder.

    The value is None if the content is to be read from the file. A secret key from the settings has no file, so its
    value is the key itself.
    """
    found: dict[str, bytes | None] = {
        str(PurePosixPath(path.relative_to(settings.data_dir))): None
        for pattern in FILES
        for path in sorted(settings.data_dir.glob(pattern))
        if path.is_file()
    }
    if key := reveal(settings.secret_key):
        found[SECRET_KEY] = key.encode()
    return found


def require_database(settings: Config) -> None:
    """Raise StartupError if the settings name no database and the data folder has none."""
    if not settings.database_url and not has_cluster(settings.data_dir):
        raise StartupError(
            f"BOOKGEN_DATA_DIR={settings.data_dir} has no database. Run the command where the service runs, with the "
            "service's settings."
        )


@contextlib.contextmanager
def open_backup(path: Path, passphrase: str) -> Iterator[FrameReader]:
    """A context that yields a reader of the backup's records.

    Raises StartupError if the file can't be read or the passphrase is wrong.
    """
    try:
        with path.open("rb") as file:
            yield FrameReader(SealedReader(file, path, passphrase))
    except OSError as error:
        raise StartupError(f"{path} can't be read: {error.strerror}.") from error


def verify(path: Path, passphrase: str) -> None:
    """Read the whole backup to check it. Raises StartupError if it is damaged or the passphrase is wrong."""
    try:
        with path.open("rb") as file:
            SealedReader(file, path, passphrase).read_to_end()
    except OSError as error:
        raise StartupError(f"{path} can't be read: {error.strerror}.") from error


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A context with a temporary file and its path. The file is renamed to `path` at the end, or removed on an error.

    Raises InvalidInput if `path` already exists, and Conflict if another process is writing it or the disk is full.
    """
    if path.exists():
        raise InvalidInput(f"{path} already exists. Choose another name.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        # Not truncated yet: another process may be writing it.
        file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    except OSError as error:
        raise InvalidInput(f"{partial} can't be written: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"Another process is writing {path}. Wait until the process has finished, or choose another name."
            ) from None
        file.truncate()
        try:
            yield file, partial
            partial.rename(path)
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            raise Conflict(f"{path} can't be written: {error.strerror}.") from error
        finally:
            partial.unlink(missing_ok=True)
    sync_folder(path.parent)


async def restore_contents(
    connection: asyncpg.Connection,
    frames: FrameReader,
    migrations: Path,
    stored: StoredTarget,
    into: Path | None = None,
) -> Contents:
    """Restore a backup and return what it contained. `frames`: the records of the backup.

    The rows are inserted in the caller's transaction. `stored` gets the files of books. The files of the data folder
    are written into the folder `into`, or skipped if `into` is None.
    """
    contents = Contents(await read_manifest(frames))
    await restore_rows(connection, frames, contents, migrations)
    while True:
        kind, content = await frames.next_json()
        if kind is FrameKind.TRAILER:
            contents.export, contents.missing = content["export"], content.get("missing", 0)
            await restore_sequences(connection, content["sequences"])
            await frames.read_to_end()
            return contents
        if kind is FrameKind.STORED:
            await stored.take(content["id"], b"".join([piece async for piece in frames.data()]))
            continue
        await _restore_file(frames, into and into / _safe(content["name"]))


async def _restore_file(frames: FrameReader, path: Path | None) -> None:
    pieces: AsyncIterator[bytes] = frames.data()
    if path is None:
        async for _ in pieces:
            pass
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        async for piece in pieces:
            await asyncio.to_thread(file.write, piece)
        file.flush()
        os.fsync(file.fileno())


def _safe(name: str) -> str:
    """Return `name`, the path of a file in a backup. Raises StartupError if the path leads out of the data folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise StartupError(f"The backup has a file with the unsafe name {name!r}. Use another backup.")
    return name


def counted(numbers: Mapping[str, int]) -> str:
    """The counts as a phrase, such as "3 tables, 1,200 rows"."""
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
