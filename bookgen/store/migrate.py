"""Schema migrations: applies the numbered files of `sql/` in order, each once. A migration cannot be undone.

Each file runs in one transaction. A file whose first line is `-- concurrently` only builds indexes, outside a
transaction, so that the tables stay writable. If such a build is interrupted, the next start repeats it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import structlog

from bookgen.errors import NoDatabase, StartupError
from bookgen.store.connecting import connect

log = structlog.get_logger()

LOCK = 0x626F6F6B67656E  # "bookgen"
LOCK_SECONDS = 10.0
# How many unknown newer migrations a version accepts. A migration only adds things that the version before it can do
# without, so an update can be rolled back.
NEWER_BY = 1
MAX_ATTEMPTS = 10  # of a migration that deadlocks with transactions of a running service
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
    """The migrations of the folder in order. Raises StartupError if a file is invalid or a number occurs twice."""
    files = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    migrations = [Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8")) for file in files]
    for migration in migrations:
        if migration.is_concurrent and _INDEX.sub("", _COMMENT.sub("", migration.sql)).strip():
            raise StartupError(f"{migration.name} may only contain CREATE INDEX CONCURRENTLY IF NOT EXISTS statements.")
    if not migrations:
        raise StartupError(f"{folder} contains no migrations.")
    if len({migration.version for migration in migrations}) < len(migrations):
        raise StartupError(f"{folder} contains two migrations with the same number.")
    return migrations


# Overrides timeouts that are set for the role; they are meant for the service's statements.
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
    """Apply the missing migrations and return their names. Several processes may call this at once.

    `dsn` must bypass any transaction pooler, because the lock and the settings belong to the session.
    """
    migrations = read_migrations(folder)
    connection = await connect(dsn, timeout=10)
    try:
        await connection.execute(UNBOUNDED)
        await lock(connection)
        await require_usable_database(connection)
        await connection.execute(CREATE_LEDGER)
        missing = _missing(migrations, await applied(connection))
        for migration in missing:
            await _apply(dsn, connection, migration)
        return [migration.name for migration in missing]
    finally:
        await connection.close()


async def lock(connection: asyncpg.Connection) -> None:
    """Take the migration lock. Waits while another process migrates. The lock ends with the session.

    It polls because a statement waiting for a lock holds a snapshot, and a concurrent index build in another session
    would wait for that snapshot to end.
    """
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):  # noqa: ASYNC110 (as above)
        await asyncio.sleep(LOCK_POLL_SECONDS)


async def pending(dsn: str, folder: Path) -> list[str]:
    """The names of the migrations that `migrate` would apply. Changes nothing."""
    migrations = read_migrations(folder)
    connection = await connect(dsn, timeout=10)
    try:
        has_ledger = await require_usable_database(connection)
        return [migration.name for migration in _missing(migrations, await applied(connection) if has_ledger else {})]
    finally:
        await connection.close()


async def require_migrated(dsn: str, folder: Path) -> None:
    """Raise NoDatabase if the database is empty, and StartupError if it needs migrations. Changes nothing."""
    missing = await pending(dsn, folder)
    if len(missing) == len(read_migrations(folder)):
        raise NoDatabase("The database is empty. Start the service first, or run: bookgen migrate")
    if missing:
        raise StartupError(
            f"The database needs {len(missing)} migrations for this version of bookgen. Restart the service with it, "
            "or run: bookgen migrate"
        )


PROPERTIES = """
    SELECT to_regclass('schema_migration') IS NOT NULL AS has_ledger,
           coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
           current_setting('server_encoding') AS encoding,
           quote_ident(current_user) AS role,
           quote_ident(current_database()) AS database
"""


async def require_usable_database(connection: asyncpg.Connection) -> bool:
    """Check that the database can have bookgen's tables. Returns whether it has them already.

    Raises StartupError if the role cannot create tables, or if the database's encoding is not UTF8.
    """
    found = await connection.fetchrow(PROPERTIES)
    role, database = found["role"], found["database"]
    if not found["may_create"]:
        raise StartupError(
            f"BOOKGEN_DATABASE_URL: the role {role} may not create tables in the database {database}. "
            f"As a superuser, run: ALTER DATABASE {database} OWNER TO {role}"
        )
    if not found["has_ledger"] and found["encoding"] != "UTF8":
        raise StartupError(
            f"BOOKGEN_DATABASE_URL: the encoding of the database {database} is {found['encoding']}; it must be UTF8. "
            f"Create it again: CREATE DATABASE {database} OWNER {role} ENCODING 'UTF8' TEMPLATE template0"
        )
    return bool(found["has_ledger"])


APPLIED = "SELECT version, sha256 FROM schema_migration"


async def applied(connection: asyncpg.Connection) -> dict[int, str]:
    """The SHA-256 of each migration that was applied to the database, by version."""
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
            raise StartupError(
                f"{migration.name} was changed after it was applied to this database. Restore the original file."
            )
    return [migration for migration in migrations if migration.version not in applied]


async def _apply(dsn: str, connection: asyncpg.Connection, migration: Migration) -> None:
    """Apply one migration. Raises StartupError if it fails or waits too long for a lock.

    In the latter case, the error names the sessions that hold the lock.
    """
    run = _build_indexes if migration.is_concurrent else _run_with_retries
    applying, holders = asyncio.ensure_future(run(connection, migration)), ""
    try:
        _, waiting = await asyncio.wait({applying}, timeout=LOCK_SECONDS / 2)
        if waiting and (holders := await _holders(dsn, connection.get_server_pid())):
            log.warning(
                "migration_waits_for_a_lock",
                migration=migration.name,
                held_by=holders,
                to_do="The migration waits for a lock that the sessions in `held_by` hold. Let them finish, or end "
                "them. If the migration gives up first, run it again.",
            )
        await applying
    except asyncpg.LockNotAvailableError as error:
        raise StartupError(
            f"{migration.name} waited too long for a lock and was rolled back. These sessions held the lock: "
            f"{holders or 'unknown'}. End them or let them finish, then run the migration again."
        ) from error
    except asyncpg.PostgresError as error:
        raise StartupError(f"{migration.name} failed and was rolled back: {error}") from error
    finally:
        applying.cancel()


async def _run_with_retries(connection: asyncpg.Connection, migration: Migration) -> None:
    """Run the migration, and again after a deadlock.

    A deadlock happens if a running service has taken the same locks in another order.
    """
    for attempt in itertools.count(1):
        try:
            await _run(connection, migration)
            break
        except asyncpg.DeadlockDetectedError:
            if attempt == MAX_ATTEMPTS:
                raise


LIMIT_LOCKS = "SELECT set_config('lock_timeout', $1, true)"

RECORD = "INSERT INTO schema_migration (version, name, sha256) VALUES ($1, $2, $3)"


async def _run(connection: asyncpg.Connection, migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute(LIMIT_LOCKS, f"{LOCK_SECONDS * 1000:.0f}ms")
        await connection.execute(migration.sql)
        await connection.execute(RECORD, migration.version, migration.name, migration.sha256)


async def apply_within(connection: asyncpg.Connection, migrations: Sequence[Migration]) -> None:
    """Apply the migrations to an empty schema within the caller's transaction, so that all take effect or none."""
    await connection.execute(CREATE_LEDGER)
    for migration in migrations:
        await connection.execute(
            migration.sql.replace(" CONCURRENTLY", "") if migration.is_concurrent else migration.sql
        )
        await connection.execute(RECORD, migration.version, migration.name, migration.sha256)


IS_INVALID = "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)"


async def _build_indexes(connection: asyncpg.Connection, migration: Migration) -> None:
    """Build the missing indexes of the file. First drops any invalid index, which an interrupted build has left."""
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
    """A description of the sessions that hold the lock for which session `pid` waits."""
    connection = await connect(dsn, timeout=10)
    try:
        return str(await connection.fetchval(HOLDERS, pid))
    finally:
        await connection.close()
