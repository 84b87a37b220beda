"""The PostgreSQL server to use: the one at the configured URL, or the embedded one."""

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
from bookgen.store.connecting import connect, hosts_of
from bookgen.store.database import NAMED, SESSION
from bookgen.store.postgres.binaries import OLDEST
from bookgen.store.postgres.embedded import EmbeddedPostgres

STARTING_SECONDS = 300.0  # a server that reports that it is starting up may be in a long crash recovery
UNREADABLE = "is not a valid URL. In a password, write % @ : / ? # as %25 %40 %3A %2F %3F %23."
URL, DIRECT_URL = "BOOKGEN_DATABASE_URL", "BOOKGEN_DATABASE_DIRECT_URL"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The DSN for the pools, and the one that bypasses a transaction pooler. Without a pooler they are the same."""

    dsn: str
    direct_dsn: str

    @property
    def pooled(self) -> bool:
        return self.dsn != self.direct_dsn


@contextlib.asynccontextmanager
async def running_postgres(
    url: str | None,
    data_dir: Path,
    bindir: Path | None = None,
    *,
    old_bindir: Path | None = None,
    direct_url: str | None = None,
    create: bool = True,
) -> AsyncIterator[PostgresAddress]:
    """A context with a server that answers. An embedded server is stopped at the end if this process started it.

    Without `create`, NoDatabase is raised if there is no embedded database, and none is moved from an older PostgreSQL.
    """
    if url is not None:
        await _reach(URL, url, NAMED if direct_url else SESSION)
        if direct_url:
            await _reach(DIRECT_URL, direct_url, SESSION)
        await _require_notifications(url, direct_url)
        yield PostgresAddress(url, direct_url or url)
        return
    embedded = EmbeddedPostgres(data_dir, bindir, old_bindir=old_bindir)
    try:
        dsn = await embedded.start(create=create)
        yield PostgresAddress(dsn, dsn)
    finally:
        await embedded.stop()


async def _reach(setting: str, url: str, session: Mapping[str, str]) -> None:
    """Wait until the server at `url` answers. Raises StartupError if it cannot be reached or used.

    It cannot be used if it is too old, or if it is a transaction pooler, which does not keep the settings in `session`.
    `setting`: the name of the setting that contains the URL, for messages.
    """
    deadline = asyncio.get_running_loop().time() + STARTING_SECONDS
    while True:
        try:
            if "@" in urlsplit(url).path:  # an unescaped slash in the password was parsed as the end of the host
                raise ValueError(url)
            connection = await connect(url, timeout=10, statement_cache_size=0, server_settings=dict(session))
            break
        except asyncpg.CannotConnectNowError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise StartupError(
                    f"{setting}: {_name(url)} was still starting up after {STARTING_SECONDS:.0f} seconds."
                ) from error
            await asyncio.sleep(1)
        except asyncpg.TargetServerAttributeNotMatched as error:
            raise StartupError(
                f"{setting}: no server at {_name(url)} accepts writes. The address must include the primary server."
            ) from error
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            reason = str(error) or type(error).__name__
            if "unsupported startup parameter" in reason:
                raise _behind_a_pooler(setting, url) from error
            raise StartupError(f"{setting}: {_name(url)} can't be reached: {reason}") from error
        except ValueError as error:  # its text may quote a part of the password
            raise StartupError(f"{setting} {UNREADABLE}") from error
    try:
        version = connection.get_server_version().major
        bound = await connection.fetchval("SHOW lock_timeout")
    finally:
        await connection.close()
    if version < OLDEST:
        raise StartupError(f"{setting}: {_name(url)} is PostgreSQL {version}; bookgen needs {OLDEST} or newer.")
    if session.get("lock_timeout", bound) != bound:
        raise _behind_a_pooler(setting, url)


async def _require_notifications(url: str, direct_url: str | None) -> None:
    """Raise StartupError if a notification that is sent through `url` does not reach a listener.

    The listener connects to `direct_url` if that is set, otherwise to `url`. The usual cause is a transaction pooler.
    """
    if await pooler.hears(direct_url or url, url):
        return
    if direct_url is None:
        raise _behind_a_pooler(URL, url)
    raise StartupError(
        f"{DIRECT_URL}: {_name(direct_url)} receives no notifications that are sent at {URL}. It must lead to the same "
        "database and bypass any transaction pooler."
    )


def _behind_a_pooler(setting: str, url: str) -> StartupError:
    todo = (
        f"Set {DIRECT_URL} to an address that bypasses the pooler. Leases, notifications and migrations need a direct "
        "connection."
    )
    if setting == DIRECT_URL:
        todo = "This address must bypass the pooler."
    return StartupError(f"{setting}: {_name(url)} is a transaction pooler, which keeps no session settings. {todo}")


def _name(url: str) -> str:
    """The hosts and the database of the URL, without the password, for messages."""
    try:
        hosts = ",".join(urlsplit(each).hostname or "the local socket" for each in hosts_of(url))
        return f"{hosts}{urlsplit(url).path}"
    except ValueError:
        return "the address"
