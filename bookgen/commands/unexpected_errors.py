"""Makes a message for an error that is not a BookgenError, such as a full disk."""

from __future__ import annotations

import errno
import os

import asyncpg
import structlog

from bookgen.errors import BookgenError
from bookgen.store.outages import DISK_FULL, sqlstate

DISK = "The disk is full. Free some space, then try again."

log = structlog.get_logger(__name__)


def explained(error: Exception) -> BookgenError:
    """Convert `error` to a BookgenError with a message of one line.

    An error of an unknown kind is also logged with its traceback. With `BOOKGEN_LOG_LEVEL=debug`, every error is
    logged.
    """
    known = _sentence(error)
    if known is None or os.environ.get("BOOKGEN_LOG_LEVEL") == "debug":
        log.critical(
            "unexpected_error",
            exc_info=error,
            to_do="Read the message after this line. If it does not name the cause, report the traceback as a bug.",
        )
    return BookgenError(" ".join((known or f"Unexpected {type(error).__name__}: {error}").split()))


def _sentence(error: Exception) -> str | None:
    if _is_full_disk(error):
        return DISK
    if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return f"Database error: {error}"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, TimeoutError):
        return "The database did not answer in time. Check that it is running, then try again."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return None


def _is_full_disk(error: BaseException | None) -> bool:
    while error is not None:
        if sqlstate(error) == DISK_FULL or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
            return True
        error = error.__cause__ or error.__context__
    return False
