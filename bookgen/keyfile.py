"""A secret made once and kept in a file for its owner alone."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path


def kept_secret(path: Path) -> str:
    """The secret in `path`, made at the first call. Of several processes the first one's is kept."""
    if not path.exists():
        _create(path, secrets.token_hex(32))
    return path.read_text().strip()


def _create(path: Path, text: str) -> None:
    """Whole or not at all: a reader never meets half a secret."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:  # 0600 by definition
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
