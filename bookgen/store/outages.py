"""Transient database errors: how to recognise them, and a loop that retries through them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import asyncpg

from bookgen.errors import Unavailable

T = TypeVar("T")

UNREACHABLE = "The database can't be reached right now. Try again in a moment."
# Conflicts between transactions (serialization, deadlock, lock not available). A retry succeeds.
CONTENTION = ("40", "55P03")
# A server that refuses writes still answers reads.
READ_ONLY, DISK_FULL = "25006", "53100"
# The SQLSTATE classes that are the fault of our statement or its data. All others are about the server: connections,
# resources, timeouts, failover, disks.
OURS = re.compile("0A|2[0-3567BDF]|3[489BF]|4[24]|54|F0|HV|P0")
FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.05, 2.0


class PoolExhausted(Unavailable):
    """The server is busy. Try again in a moment."""


def sqlstate(error: BaseException | None) -> str:
    """The SQLSTATE from the server. Empty for an error on the client's side."""
    if isinstance(error, Unavailable):
        error = error.__cause__
    return (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""


def is_transient(error: BaseException) -> bool:
    """Whether this error of a database call is transient, so that a retry may succeed."""
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return True  # a migration changed the statement's result type; the next transaction prepares it again
    if isinstance(error, asyncpg.PostgresError):
        return sqlstate(error) == READ_ONLY or not OURS.match(sqlstate(error))
    if isinstance(error, asyncpg.InterfaceError):
        # asyncpg raises the same class for misuse, such as a wrong number of arguments. That is a bug, not transient.
        return "clos" in str(error) or "released back to the pool" in str(error)
    return isinstance(error, Unavailable | asyncpg.InternalClientError | OSError)  # a TimeoutError is an OSError


def is_outage(error: BaseException) -> bool:
    """Whether a transient error comes from the database itself, not from another transaction or a migration."""
    return not sqlstate(error).startswith((*CONTENTION, "0A"))


@contextlib.contextmanager
def transient_as_unavailable() -> Iterator[None]:
    """A context that turns transient database errors into Unavailable."""
    try:
        yield
    except Exception as error:
        raise_as_unavailable(error)
        raise


def raise_as_unavailable(error: Exception) -> None:
    """Raise Unavailable from `error` if it is transient. Does nothing if it is Unavailable already."""
    if not isinstance(error, Unavailable) and is_transient(error):
        raise Unavailable(UNREACHABLE) from error


def _cancellations() -> int:
    """How many cancellation requests the current task has."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


async def through_outages(
    operation: Callable[[], Awaitable[T]],
    *,
    seconds: float | None = None,
    failed: Callable[[Unavailable], None] = lambda _error: None,
) -> T:
    """Retry an idempotent `operation` on transient errors. After `seconds`, if given, raises Unavailable.

    `failed` is called with each transient error. Any other error is raised at once.
    """
    clock = asyncio.get_running_loop().time
    deadline = None if seconds is None else clock() + seconds
    wait = FIRST_WAIT_SECONDS
    while True:
        cancellations = _cancellations()
        try:
            with transient_as_unavailable():
                return await operation()
        except Unavailable as error:
            # While the network is down, a connection that cannot be released raises this in place of the cancellation.
            if _cancellations() > cancellations:
                raise asyncio.CancelledError from error
            failed(error)
            if deadline is not None and clock() + wait > deadline:
                raise
        await asyncio.sleep(wait * (0.5 + random.random()))
        wait = min(wait * 2, MAX_WAIT_SECONDS)
