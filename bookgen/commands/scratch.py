"""Temporary folders of commands in the data folder. Each stays locked as long as its process lives."""

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
    """The folders that killed processes have left: those without a lock. Each is locked while it is handled."""
    for left in data_dir.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), _locked(left):
            yield left


@contextlib.contextmanager
def scratch_folder(data_dir: Path, prefix: str) -> Iterator[Path]:
    """A new folder that is removed at the end."""
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
    """Lock the folder. Raises BlockingIOError if another process has locked it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
