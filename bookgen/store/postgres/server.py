"""The PostgreSQL to use: the server of the given URL, or one of our own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from bookgen.errors import StartupError
from bookgen.store.postgres.binaries import OLDEST
from bookgen.store.postgres.embedded import EmbeddedPostgres

STARTING_SECONDS = 300.0  # a server that says that it is starting gets the time of a crash recovery


@contextlib.asynccontextmanager
async def running_postgres(url: str | None, data_dir: Path, bindir: Path | None = None) -> AsyncIterator[str]:
    """The DSN of a server that answers. One of our own is stopped at the end, by the process that started it."""
    if url is not None:
        await _reach(url)
        yield url
        return
    embedded = EmbeddedPostgres(data_dir, bindir)
    try:
        yield await embedded.start()
    finally:
        await embedded.stop()


async def _reach(url: str) -> None:
    deadline = asyncio.get_running_loop().time() + STARTING_SECONDS
    while True:
        try:
            connection = await asyncpg.connect(url, timeout=10)
            break
        except asyncpg.CannotConnectNowError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise StartupError(f"{_name(url)} does not finish starting.") from error
            await asyncio.sleep(1)
        except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            reason = str(error) or type(error).__name__
            raise StartupError(f"BOOKGEN_DATABASE_URL: {_name(url)} can't be reached: {reason}") from error
    try:
        version = connection.get_server_version().major
    finally:
        await connection.close()
    if version < OLDEST:
        raise StartupError(f"BOOKGEN_DATABASE_URL: {_name(url)} is PostgreSQL {version}; bookgen needs {OLDEST}.")


def _name(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'the local socket'}{parts.path}"
