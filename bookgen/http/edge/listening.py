"""Serves until a stop signal: bind the port, listen, and finally let work in progress finish."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import ip_address

from aiohttp import web

from bookgen.errors import StartupError

MAX_FILES = 65_536


def allow_open_files() -> None:
    """Raise this process's limit of open files. The usual limit of 1,024 is too low for all connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # the system may have a lower limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bind(host: str, port: int) -> socket.socket:
    """Bind the port. Connections wait in the operating system's queue until `listen` accepts them.

    Raises StartupError if the address does not belong to this machine, or if the port is in use or not permitted.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise StartupError(_refused(host, port, error)) from error
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(1024)
    except OSError as error:
        bound.close()
        raise StartupError(_refused(host, port, error)) from error
    return bound


def _refused(host: str, port: int, error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"BOOKGEN_HOST={host} is not an address of this machine: {error.strerror}."
    to_do = (
        "Ports below 1024 are reserved. Use a higher port behind a proxy."
        if error.errno == errno.EACCES
        else "Stop the program that uses this port, or set another port."
    )
    return f"BOOKGEN_PORT={port} on {host} can't be used: {error.strerror}. {to_do}"


def address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return url(host, port)


def url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_everywhere(bound: socket.socket) -> bool:
    """Whether the socket is bound to all addresses of the machine (0.0.0.0 or ::), which cannot be used in a URL."""
    return ip_address(bound.getsockname()[0]).is_unspecified


async def listen(runner: web.AppRunner, bound: socket.socket) -> None:
    await runner.setup()
    await web.SockSite(runner, bound).start()


class StopSignal:
    """Turns SIGTERM and SIGINT into events: the first signal sets `requested`, the second signal sets `forced`.

    After `requested`, the service lets work in progress finish and then ends. `forced` ends it without this wait.
    """

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.forced = asyncio.Event()

    @contextlib.contextmanager
    def listening(self) -> Iterator[StopSignal]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signal)
        try:
            yield self
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _signal(self) -> None:
        (self.forced if self.requested.is_set() else self.requested).set()


async def drain(work: Callable[[float], Awaitable[None]], seconds: float, forced: asyncio.Event) -> None:
    """Await `work(seconds)`, which lets work in progress finish for at most this many seconds.

    If `forced` is set meanwhile, cancel it and await `work(0)`, which does not let anything finish.
    """
    draining = asyncio.ensure_future(work(seconds))
    forcing = asyncio.ensure_future(forced.wait())
    await asyncio.wait((draining, forcing), return_when=asyncio.FIRST_COMPLETED)
    forcing.cancel()
    if not draining.done():
        draining.cancel()
        await asyncio.wait((draining,))
        await work(0)
    elif error := draining.exception():
        raise error
