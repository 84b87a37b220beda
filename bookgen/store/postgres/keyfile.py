"""A secret that is generated once and kept in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from bookgen.errors import StartupError

MIN_BYTES = 32


def kept_secret(path: Path) -> str:
    """The secret in `path`, generated on the first call. If several processes race, the first one's is kept."""
    try:
        if not path.exists():
            _create(path, secrets.token_hex(32))
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise StartupError(f"{path} can't be used: {reason}.") from error
    if len(secret.encode()) < MIN_BYTES:
        raise StartupError(f"{path} has fewer than {MIN_BYTES} bytes. Restore its former content.")
    return secret


def _create(path: Path, text: str) -> None:
    """Write the file atomically, so that a reader never sees part of a secret."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:  # always created with mode 0600
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
