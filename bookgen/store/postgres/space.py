"""Free space on the disk of the embedded database. A full disk takes the server down."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import structlog

from bookgen.errors import StartupError

log = structlog.get_logger(__name__)

MIN_FREE_BYTES = 512 << 20
MIN_START_BYTES = 32 << 20  # two WAL files
SHORTAGE = "This server's disk is almost full, so nothing new can be stored. Books in progress continue."


def make_data_folder(folder: Path) -> None:
    """Create the data folder, readable only by this user. Raises StartupError if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise StartupError(f"BOOKGEN_DATA_DIR={folder} can't be written: {error.strerror}.") from error


class DiskSpace(NamedTuple):
    """The size and the free space of a file system, in bytes."""

    total: int
    free: int


def disk_space(folder: Path) -> DiskSpace | None:
    """The disk space where the folder is; None if it is unknown."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return DiskSpace(usage.total, usage.free)


def no_room(folder: Path) -> str | None:
    """The error message if the server cannot start because the disk is full; None if there is enough room."""
    space = disk_space(folder)
    if space is None or space.free >= MIN_START_BYTES:
        return None
    return (
        f"The disk of BOOKGEN_DATA_DIR={folder} is full: {space.free >> 20} MB are free, and the database needs "
        f"{MIN_START_BYTES >> 20} MB to start. Free some space, then start again."
    )


def no_shortage() -> None:
    """Stands in for `DiskGuard.shortage` if the database is on a server whose disk cannot be checked."""


@dataclass(slots=True)
class DiskGuard:
    """Checks that the file system of `folder` has at least `least_free` bytes free."""

    folder: Path
    least_free: int = MIN_FREE_BYTES
    _short: bool = field(default=False, init=False)

    def shortage(self) -> str | None:
        """The message for requests that would store more, or None while there is room."""
        free = shutil.disk_usage(self.folder).free
        short = free < self.least_free
        if short and not self._short:
            log.error(
                "disk_almost_full",
                free_mb=free >> 20,
                least_mb=self.least_free >> 20,
                to_do="Free some space, or make the disk larger. Until then nothing new is stored.",
            )
        elif self._short and not short:
            log.info("disk_has_room", free_mb=free >> 20, least_mb=self.least_free >> 20)
        self._short = short
        return SHORTAGE if short else None
