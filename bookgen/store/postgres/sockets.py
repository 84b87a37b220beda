"""The folder of the embedded server's socket, in the data folder, where all of the service's processes can find it.

A temporary folder would not work, because systemd's PrivateTmp gives each service a different one.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path

NAME = ".s.PGSQL.5432"
MAX_ADDRESS_BYTES = 103  # the limit of macOS; Linux allows four more
# PostgreSQL and asyncpg accept several folders, separated by commas, so the path must not contain a comma.
_PLAIN = re.compile(r'[^\s,"]+')


def socket_folder(root: Path) -> Path:
    """The folder for the socket of the server in `root`, the same for all processes that use `root`."""
    inside = root / "sockets"
    if is_addressable(inside) or sys.platform == "linux":
        return inside
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"bookgen-pg-{os.geteuid()}-{digest}"


def is_addressable(folder: Path) -> bool:
    """Whether the folder's path can be used in a socket address: short, and without unusual characters."""
    return _PLAIN.fullmatch(str(folder)) is not None and len(os.fsencode(folder / NAME)) <= MAX_ADDRESS_BYTES


def address(folder: Path) -> str:
    """A path by which this process and its children reach the folder, short enough for a socket address."""
    return str(folder) if is_addressable(folder) else f"/proc/{os.getpid()}/fd/{_opened(folder)}"


@cache
def _opened(folder: Path) -> int:
    """A descriptor of the folder. It is never closed, because later connections use the path from `address`."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
