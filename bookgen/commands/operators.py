"""The name under which the audit log records who ran a command."""

from __future__ import annotations

import getpass
import os
import socket


def operator() -> str:
    """The user and the machine, as `user@host`."""
    try:
        user = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
