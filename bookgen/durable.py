"""Makes sure that a file that was created, renamed or removed stays so after a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Write the folder's list of files to disk. Call this after creating, renaming or removing a file in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
