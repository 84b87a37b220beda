"""Files in a folder, in 256 folders by the first two digits of their names."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bookgen.durable import sync_folder
from bookgen.errors import FilesUnavailable
from bookgen.files.place import FileMissing, FilePlace, FilesRefused
from bookgen.processes import give_to_owner_of
from bookgen.threads import AbandonedThreads

T = TypeVar("T")

THREADS = 4
SECONDS = 60.0  # the time limit of a call: a network folder blocks for ever while its server is unreachable
PARTIAL = ".partial"
# Temporary errors, which pass by themselves or when an operator frees space.
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE)


class Folder(FilePlace):
    """Stores files in a folder, with threads of its own.

    If the folder does not respond, only these threads are blocked, not other work or the shutdown.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self._root = root
        self._threads = AbandonedThreads(THREADS, "files")

    async def prepare(self) -> None:
        await self._do(lambda: _make_folder(self._root))

    async def put(self, name: str, data: bytes) -> None:
        await self._do(lambda: self._put(self._path(name), data))

    async def get(self, name: str) -> bytes:
        return await self._do(lambda: self._get(self._path(name)))

    async def delete(self, name: str) -> None:
        await self._do(lambda: self._delete(self._path(name)))

    def _path(self, name: str) -> Path:
        return self._root / name[:2] / name

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(SECONDS):
                return await self._threads.run(work)
        except TimeoutError as error:
            raise FilesUnavailable(f"The folder {self._root} did not answer within {SECONDS:g} seconds.") from error
        except OSError as error:
            kind = FilesUnavailable if error.errno in PASSING else FilesRefused
            raise kind(f"The folder {self._root} can't be used: {error.strerror}.") from error

    def _put(self, path: Path, data: bytes) -> None:
        self._root.stat()  # fails if the folder is missing, as when it is not mounted: only `prepare` may create it
        _make_folder(path.parent)
        partial = path.with_name(path.name + PARTIAL)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            give_to_owner_of(self._root, file.fileno())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)

    def _get(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            self._root.stat()  # fails if the folder is not mounted: then the file is not lost, only unreachable
            raise FileMissing from None

    def _delete(self, path: Path) -> None:
        self._root.stat()
        path.with_name(path.name + PARTIAL).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            sync_folder(path.parent)


def _make_folder(folder: Path) -> None:
    """Create a folder that only its owner can read. If root creates it, the owner of the parent folder owns it."""
    if folder.is_dir():
        return
    if not folder.parent.is_dir():
        _make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            give_to_owner_of(folder.parent, descriptor)
        finally:
            os.close(descriptor)
        sync_folder(folder.parent)
