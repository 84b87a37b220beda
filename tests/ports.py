"""A TCP port for a program that cannot choose one itself."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
