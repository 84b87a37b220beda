"""The PostgreSQL to use: the server of the given URL, or one of our own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from bookgen.errors import StartupError
from bookgen.store import pooler
from bookgen.store.database import NAMED, SESSION
from bookgen.store.postgres.binaries import OLDEST
from bookgen.store.postgres.embedded import EmbeddedPostgres

STARTING_SECONDS = 300.0  # a server that says that it is starting gets the time of a crash recovery
UNREADABLE = "can't be read: in a password % @ : / ? # are written %25 %40 %3A %2F %3F %23."
URL, DIRECT_URL = "BOOKGEN_DATABASE_URL", "BOOKGEN_DATABASE_DIRECT_URL"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The DSN for the pools, and the one that leads past a pooler of transactions: the same where there is none."""

    dsn: str
    direct_dsn: str

    @property
    def pooled(self) -> bool:
        return self.dsn != self.direct_dsn


@contextlib.asynccontextmanager
async def running_postgres(
    url: str | None, data_dir: Path, bindir: Path | None = None, *, direct_url: str | None = None
) -> AsyncIterator[PostgresAddress]:
    """A server that answers. One of our own is stopped at the end, by the process that started it."""
    if url is not None:
        await _reach(URL, url, NAMED if direct_url else SESSION)
        if direct_url:
            await _reach(DIRECT_URL, direct_url, SESSION)
        await _require_notifications(url, direct_url)
        yield PostgresAddress(url, direct_url or url)
        return
    embedded = EmbeddedPostgres(data_dir, bindir)
    try:
        dsn = await embedded.start()
        yield PostgresAddress(dsn, dsn)
    finally:
        await embedded.stop()


async def _reach(setting: str, url: str, session: Mapping[str, str]) -> None:
    """StartupError when the server can't be reached, is too old, or does not keep what `session` says."""
    deadline = asyncio.get_running_loop().time() + STARTING_SECONDS
    while True:
        try:
            if "@" in urlsplit(url).path:  # a slash of the password is taken for the end of the host
                raise ValueError(url)
            connection = await asyncpg.connect(url, timeout=10, statement_cache_size=0, server_settings=dict(session))
            break
        except asyncpg.CannotConnectNowError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise StartupError(f"{_name(url)} does not finish starting.") from error
            await asyncio.sleep(1)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            reason = str(error) or type(error).__name__
            if "unsupported startup parameter" in reason:
                raise _behind_a_pooler(setting, url) from error
            raise StartupError(f"{setting}: {_name(url)} can't be reached: {reason}") from error
        except ValueError as error:  # which quotes what may be a piece of the password
            raise StartupError(f"{setting} {UNREADABLE}") from error
    try:
        version = connection.get_server_version().major
        bound = await connection.fetchval("SHOW lock_timeout")
    finally:
        await connection.close()
    if version < OLDEST:
        raise StartupError(f"{setting}: {_name(url)} is PostgreSQL {version}; bookgen needs {OLDEST}.")
    if session.get("lock_timeout", bound) != bound:
        raise _behind_a_pooler(setting, url)


async def _require_notifications(url: str, direct_url: str | None) -> None:
    """StartupError when nobody hears what is said at `url`: a pooler of transactions was asked to listen."""
    if await pooler.hears(direct_url or url, url):
        return
    if direct_url is None:
        raise _behind_a_pooler(URL, url)
    raise StartupError(
        f"{DIRECT_URL}: {_name(direct_url)} hears nothing that is said at {URL}. It must lead to the same database, "
        "past any pooler of transactions."
    )


def _behind_a_pooler(setting: str, url: str) -> StartupError:
    todo = f"Set {DIRECT_URL} to an address past it, for the lease, notifications and migrations."
    if setting == DIRECT_URL:
        todo = "It must lead past the pooler."
    return StartupError(f"{setting}: {_name(url)} is a pooler, whose sessions keep nothing that they are told. {todo}")


def _name(url: str) -> str:
    """The URL without its password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    return f"{parts.hostname or 'the local socket'}{parts.path}"
