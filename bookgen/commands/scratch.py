"""Temporary folders that commands make in the data folder. A folder is locked while the process that made it lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bookgen.errors import StartupError


def left_behind(data_dir: Path, prefix: str) -> Iterator[Path]:
    """Yield the folders that killed processes have left, which have no lock. Each is locked while it is handled."""
    for left in data_dir.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), _locked(left):
            yield left


@contextlib.contextmanager
def scratch_folder(data_dir: Path, prefix: str) -> Iterator[Path]:
    """A context with a new, locked folder that is removed at the end. `prefix`: how its name begins."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=data_dir))
    except OSError as error:
        raise StartupError(f"{data_dir} can't be written: {error.strerror}.") from error
    with _locked(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A context in which the folder is locked. Raises BlockingIOError if another process has locked it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
