"""Room on the disk of the embedded database: full, it takes the server down in the middle of what it writes."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from bookgen.errors import StartupError

log = structlog.get_logger(__name__)

MIN_FREE_BYTES = 512 << 20
SHORTAGE = "The disk of this server is almost full, so nothing new is kept now. Books that are being written go on."


def make_data_folder(folder: Path) -> None:
    """Makes the folder for this user alone; StartupError where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise StartupError(f"BOOKGEN_DATA_DIR={folder} can't be written: {error.strerror}.") from error


def no_shortage() -> None:
    """For a database whose disk is not ours to look at."""


@dataclass(slots=True)
class DiskGuard:
    """Looks whether the file system of `folder` has `least_free` bytes left."""

    folder: Path
    least_free: int = MIN_FREE_BYTES
    _short: bool = field(default=False, init=False)

    def shortage(self) -> str | None:
        """What to tell whoever wants to keep more; None while there is room."""
        free = shutil.disk_usage(self.folder).free
        short = free < self.least_free
        if short is not self._short:
            tell = log.error if short else log.info
            tell("disk_almost_full" if short else "disk_has_room", free_mb=free >> 20, least_mb=self.least_free >> 20)
        self._short = short
        return SHORTAGE if short else None
