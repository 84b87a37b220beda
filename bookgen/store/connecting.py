"""Connects to PostgreSQL by a URL, which may name several hosts: a primary and its standbys."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import asyncpg

ATTRIBUTE = "target_session_attrs"


async def connect(dsn: str, *, timeout: float, **options: Any) -> Any:  # noqa: ASYNC109 (asyncpg's)
    """Like `asyncpg.connect`. If the URL names several hosts, connect to the first that answers and accepts writes.

    All hosts are tried at once. asyncpg would try them in order, and might wait until `timeout` for a dead machine. If
    no host accepts writes, the most informative error is raised.
    """
    hosts = hosts_of(dsn)
    if len(hosts) == 1:
        return await asyncpg.connect(dsn, timeout=timeout, **options)
    if ATTRIBUTE not in parse_qs(urlsplit(dsn).query):
        options |= {ATTRIBUTE: "read-write"}
    return await _first([asyncio.create_task(asyncpg.connect(each, timeout=timeout, **options)) for each in hosts])


def hosts_of(dsn: str) -> list[str]:
    """One DSN for each host that `dsn` names. If `dsn` names no host or only one, the list contains just `dsn`."""
    parts = urlsplit(dsn)
    login, at, hosts = parts.netloc.rpartition("@")
    if not hosts:
        return [dsn]
    return [urlunsplit((parts.scheme, f"{login}{at}{host}", *parts[2:])) for host in hosts.split(",")]


async def _first(attempts: list[asyncio.Task[Any]]) -> Any:
    """The first connection that is made; the others are closed. If all fail, raises the most informative error."""
    waiting = set(attempts)
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if made := [attempt for attempt in done if attempt.exception() is None]:
                attempts.remove(made[0])
                return made[0].result()
        raise _most_telling([error for attempt in attempts if (error := attempt.exception())])
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_close)
            attempt.cancel()


def _close(attempt: asyncio.Task[Any]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().terminate()


def _most_telling(errors: list[BaseException]) -> BaseException:
    """The error that best explains why no host could be used.

    An error that a server sent, such as a wrong password, is preferred to an unreachable host, and an unreachable host
    to a host that accepts no writes.
    """
    return min(errors, key=lambda error: (not isinstance(error, asyncpg.PostgresError), not isinstance(error, OSError)))
