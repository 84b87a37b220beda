"""Applies `sql/` in order: numbered, forward only, each file once and whole.

A file is one transaction. A file whose first line is `-- concurrently` only builds indexes, outside a transaction, so
that the tables can be written meanwhile. If its build is cut off, the next start builds it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import structlog

from bookgen.errors import StartupError

log = structlog.get_logger()

LOCK = 0x626F6F6B67656E  # "bookgen"
LOCK_SECONDS = 10.0
# A migration adds what an older version does without, so that an update can be taken back.
NEWER_BY = 1
MEETINGS = 10  # with transactions of others, for which a migration may be rolled back
LOCK_POLL_SECONDS = 0.1
CONCURRENTLY = "-- concurrently"
_COMMENT = re.compile(r"^--.*$", re.MULTILINE)
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+)\s[^;]+;")


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def is_concurrent(self) -> bool:
        """Whether the file builds indexes outside a transaction."""
        return self.sql.startswith(CONCURRENTLY)


def read_migrations(folder: Path) -> list[Migration]:
    files = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    migrations = [Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8")) for file in files]
    for migration in migrations:
        if migration.is_concurrent and _INDEX.sub("", _COMMENT.sub("", migration.sql)).strip():
            raise StartupError(f"{migration.name} may only have CREATE INDEX CONCURRENTLY IF NOT EXISTS statements.")
    if not migrations:
        raise StartupError(f"{folder} holds no migrations.")
    if len({migration.version for migration in migrations}) < len(migrations):
        raise StartupError(f"{folder} holds two migrations of one number.")
    return migrations


# Whatever the role remembers for the service's statements.
UNBOUNDED = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0"

CREATE_LEDGER = """
    CREATE TABLE IF NOT EXISTS schema_migration (
        version    integer PRIMARY KEY,
        name       text NOT NULL,
        sha256     text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""


async def migrate(dsn: str, folder: Path) -> list[str]:
    """Apply what is missing and give its names. Any number of processes may call it at once.

    `dsn` leads to a session that keeps what it is told, past any pooler of transactions.
    """
    migrations = read_migrations(folder)
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        await connection.execute(UNBOUNDED)
        await _lock(connection)
        await _require_a_home(connection)
        await connection.execute(CREATE_LEDGER)
        missing = _missing(migrations, await _applied(connection))
        for migration in missing:
            await _apply(dsn, connection, migration)
        return [migration.name for migration in missing]
    finally:
        await connection.close()


async def _lock(connection: asyncpg.Connection) -> None:
    """Wait for other migrations. The lock ends with the session.

    It is polled: a statement that waits for a lock has a snapshot, for which a concurrent index build would wait.
    """
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):  # noqa: ASYNC110 (as above)
        await asyncio.sleep(LOCK_POLL_SECONDS)


async def pending(dsn: str, folder: Path) -> list[str]:
    """What `migrate` would apply, nothing changed."""
    migrations = read_migrations(folder)
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        begun = await _require_a_home(connection)
        return [migration.name for migration in _missing(migrations, await _applied(connection) if begun else {})]
    finally:
        await connection.close()


HOME = """
    SELECT to_regclass('schema_migration') IS NOT NULL AS begun,
           coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS ours,
           current_setting('server_encoding') AS encoding,
           quote_ident(current_user) AS role,
           quote_ident(current_database()) AS database
"""


async def _require_a_home(connection: asyncpg.Connection) -> bool:
    """Whether the database has tables of ours. StartupError where none can be made, or none that hold every script."""
    home = await connection.fetchrow(HOME)
    role, database = home["role"], home["database"]
    if not home["ours"]:
        raise StartupError(
            f"BOOKGEN_DATABASE_URL: the role {role} may not make tables in the database {database}. "
            f"Its superuser can say: ALTER DATABASE {database} OWNER TO {role}"
        )
    if not home["begun"] and home["encoding"] != "UTF8":
        raise StartupError(
            f"BOOKGEN_DATABASE_URL: the database {database} is encoded as {home['encoding']} and can't hold every "
            f"script. Make it anew: CREATE DATABASE {database} OWNER {role} ENCODING 'UTF8' TEMPLATE template0"
        )
    return bool(home["begun"])


APPLIED = "SELECT version, sha256 FROM schema_migration"


async def _applied(connection: asyncpg.Connection) -> dict[int, str]:
    return {row["version"]: row["sha256"] for row in await connection.fetch(APPLIED)}


def _missing(migrations: list[Migration], applied: dict[int, str]) -> list[Migration]:
    known = {migration.version for migration in migrations}
    newer = applied.keys() - known
    if len(newer) > NEWER_BY:
        raise StartupError(
            f"the database has migration {max(newer):04d}, which this version of bookgen does not know. "
            "Start the version that made it, or a newer one."
        )
    for migration in migrations:
        if applied.get(migration.version, migration.sha256) != migration.sha256:
            raise StartupError(f"{migration.name} was changed after it had been applied to this database.")
    return [migration for migration in migrations if migration.version not in applied]


async def _apply(dsn: str, connection: asyncpg.Connection, migration: Migration) -> None:
    """StartupError when it fails, or when others hold what it has to lock for too long; then it says who they are."""
    run = _build_indexes if migration.is_concurrent else _run_until_it_meets_nobody
    applying, holders = asyncio.ensure_future(run(connection, migration)), ""
    try:
        _, waiting = await asyncio.wait({applying}, timeout=LOCK_SECONDS / 2)
        if waiting and (holders := await _holders(dsn, connection.get_server_pid())):
            log.warning("migration_waits_for_a_lock", migration=migration.name, held_by=holders)
        await applying
    except asyncpg.LockNotAvailableError as error:
        raise StartupError(
            f"{migration.name} waits for a lock and was rolled back. It is held by {holders}."
        ) from error
    except asyncpg.PostgresError as error:
        raise StartupError(f"{migration.name} failed and was rolled back: {error}") from error
    finally:
        applying.cancel()


async def _run_until_it_meets_nobody(connection: asyncpg.Connection, migration: Migration) -> None:
    """Again where it was rolled back for a transaction of a service that is running, which has taken the same locks in
    another order."""
    for meetings in itertools.count(1):
        try:
            await _run(connection, migration)
            break
        except asyncpg.DeadlockDetectedError:
            if meetings == MEETINGS:
                raise


LIMIT_LOCKS = "SELECT set_config('lock_timeout', $1, true)"

RECORD = "INSERT INTO schema_migration (version, name, sha256) VALUES ($1, $2, $3)"


async def _run(connection: asyncpg.Connection, migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute(LIMIT_LOCKS, f"{LOCK_SECONDS * 1000:.0f}ms")
        await connection.execute(migration.sql)
        await connection.execute(RECORD, migration.version, migration.name, migration.sha256)


IS_INVALID = "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)"


async def _build_indexes(connection: asyncpg.Connection, migration: Migration) -> None:
    """Build the missing indexes of the file. An invalid index is left of an earlier build that was cut off."""
    for statement in _INDEX.finditer(migration.sql):
        name = statement.group(1)
        if await connection.fetchval(IS_INVALID, name):
            await connection.execute(f"DROP INDEX CONCURRENTLY {name}")
        await connection.execute(statement.group())
    await connection.execute(RECORD, migration.version, migration.name, migration.sha256)


HOLDERS = """
    SELECT coalesce(string_agg(format('process %s of %s (%s): %s', pid, usename, application_name, left(query, 100)),
                               '; '), '')
      FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1))
"""


async def _holders(dsn: str, pid: int) -> str:
    """The sessions that hold what the session `pid` waits for."""
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        return str(await connection.fetchval(HOLDERS, pid))
    finally:
        await connection.close()
