"""Secrets made once and kept in a file for its owner alone."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from bookgen.errors import StartupError

MIN_BYTES = 32


def kept_secret(path: Path) -> str:
    """The secret in `path`, made at the first call. Of several processes the first one's is kept."""
    return kept_text(path, lambda: secrets.token_hex(32))


def kept_text(path: Path, make: Callable[[], str]) -> str:
    """The secret text in `path`, which `make` makes at the first call. StartupError if it cannot be kept or read."""
    try:
        if not path.exists():
            _create(path, make())
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StartupError(f"{path} can't be used: {reason}.") from error
    if len(secret.encode()) < MIN_BYTES:
        raise StartupError(f"{path} holds fewer than {MIN_BYTES} bytes: put back what was in it.")
    return secret


def _create(path: Path, text: str) -> None:
    """Whole or not at all: a reader never meets half a secret."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:  # 0600 by definition
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
