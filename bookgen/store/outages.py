"""Database errors that pass by themselves: which they are, and the loop that tries again until they have."""

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
# Two transactions that met: tried again, one of them gets through.
CONTENTION = ("40", "55P03")
# A server that takes no writes still answers what only reads.
READ_ONLY, DISK_FULL = "25006", "53100"
# The classes of what a statement of ours, or the data that it was given, does wrong. Whatever else a server answers is
# about the server: no connection, no room, a time that is over, a fail-over, a broken disk.
OURS = re.compile("0A|2[0-3567BDF]|3[489BF]|4[24]|54|F0|HV|P0")
FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.05, 2.0


class PoolExhausted(Unavailable):
    """The server is busy. Try again in a moment."""


def sqlstate(error: BaseException | None) -> str:
    """The SQLSTATE that the server answered with; empty for an error of the client's side."""
    if isinstance(error, Unavailable):
        error = error.__cause__
    return (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""


def is_passing(error: BaseException) -> bool:
    """Whether `error`, raised by a database call, is no fault of the call: tried again, it may succeed."""
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return True  # a migration has changed what a prepared statement returns: a fresh transaction prepares it anew
    if isinstance(error, asyncpg.PostgresError):
        return sqlstate(error) == READ_ONLY or not OURS.match(sqlstate(error))
    if isinstance(error, asyncpg.InterfaceError):
        # The same class reports misuse, such as a wrong number of arguments: that stays a bug.
        return "clos" in str(error) or "released back to the pool" in str(error)
    return isinstance(error, Unavailable | asyncpg.InternalClientError | OSError)  # a TimeoutError is an OSError


def is_outage(error: BaseException) -> bool:
    """Whether a passing error is the database's own, and not the effect of another transaction or of a migration."""
    return not sqlstate(error).startswith((*CONTENTION, "0A"))


@contextlib.contextmanager
def passing_as_unavailable() -> Iterator[None]:
    """Raises Unavailable, caused by the error, where a passing one is raised inside."""
    try:
        yield
    except Exception as error:
        raise_as_unavailable(error)
        raise


def raise_as_unavailable(error: Exception) -> None:
    """Raises Unavailable, caused by the error, if it is a passing one and not that already."""
    if not isinstance(error, Unavailable) and is_passing(error):
        raise Unavailable(UNREACHABLE) from error


def _cancellations() -> int:
    """How often the task that runs was cancelled."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


async def through_outages(
    operation: Callable[[], Awaitable[T]],
    *,
    seconds: float | None = None,
    failed: Callable[[Unavailable], None] = lambda _error: None,
) -> T:
    """Repeats an idempotent `operation` until it is through, or for `seconds`; then raises Unavailable.

    `failed` is told each passing error. Any other is raised at once.
    """
    clock = asyncio.get_running_loop().time
    deadline = None if seconds is None else clock() + seconds
    wait = FIRST_WAIT_SECONDS
    while True:
        cancellations = _cancellations()
        try:
            with passing_as_unavailable():
                return await operation()
        except Unavailable as error:
            # Where the way is cut, a connection that can't be given back says that in place of the cancellation.
            if _cancellations() > cancellations:
                raise asyncio.CancelledError from error
            failed(error)
            if deadline is not None and clock() + wait > deadline:
                raise
        await asyncio.sleep(wait * (0.5 + random.random()))
        wait = min(wait * 2, MAX_WAIT_SECONDS)
