"""The backups made of this database, and whether it is itself a restored copy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """A backup. `drilled`: it was verified by a trial restore. `missing`: how many stored pictures it lacks."""

    made_at: datetime
    drilled: bool
    bytes: int
    file: str
    missing: int = 0


HAS_TABLE = "SELECT to_regclass('backup') IS NOT NULL"
HAS_MISSING = """
    SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('backup') AND attname = 'missing')
"""
RECORD = "INSERT INTO backup (made_at, drilled, bytes, file, missing) VALUES ($1, $2, $3, $4, $5)"
RECORD_COMPLETE = "INSERT INTO backup (made_at, drilled, bytes, file) VALUES ($1, $2, $3, $4)"


async def record(db: DB, backup: BackupRecord) -> None:
    """Record a backup, if the database's schema allows it.

    An older schema has no table of backups, or cannot record a backup that lacks pictures. In these cases nothing is
    recorded.
    """
    values = (backup.made_at, backup.drilled, backup.bytes, backup.file)
    if await db.fetchval(HAS_MISSING):
        await db.execute(RECORD, *values, backup.missing)
    elif not backup.missing and await db.fetchval(HAS_TABLE):
        await db.execute(RECORD_COMPLETE, *values)


LAST_DRILLED = "SELECT made_at, drilled, bytes, file, missing FROM backup WHERE drilled ORDER BY made_at DESC LIMIT 1"


async def last_drilled(db: DB) -> BackupRecord | None:
    """The newest backup that a trial restore has verified, or None."""
    row = await db.fetchrow(LAST_DRILLED)
    return row and BackupRecord(**row)


SCHEDULE_LOCK = 0x626F6F6B62616B  # "bookbak"
CLAIM = "SELECT pg_try_advisory_lock($1)"


async def claim(connection: asyncpg.Connection) -> bool:
    """Claim the backup schedule for as long as the connection lives. False if another process has claimed it."""
    claimed: bool = await connection.fetchval(CLAIM, SCHEDULE_LOCK)
    return claimed


IS_DUE = """
    SELECT NOT EXISTS (
        SELECT FROM backup
         WHERE drilled AND made_at > now() - $2 * interval '1 second' AND starts_with(file, $1 || '/'))
"""


async def is_due(db: DB, folder: str, every: float) -> bool:
    """Whether the folder has no verified backup from the last `every` seconds, by the database's clock."""
    due: bool = await db.fetchval(IS_DUE, folder, every)
    return due


INCOMPLETE = "SELECT file FROM backup WHERE missing > 0 AND starts_with(file, $1 || '/')"


async def incomplete(db: DB, folder: str) -> list[str]:
    """The paths of the backups made in the folder that lack stored pictures."""
    return [row["file"] for row in await db.fetch(INCOMPLETE, folder)]


@dataclass(frozen=True, slots=True)
class BackupAges:
    """The ages of the newest verified backup and of the newest verified backup that lacks no pictures, in seconds.

    Each is None if there is no such backup. `missing`: how many stored pictures the newest verified backup lacks.
    """

    newest: float | None
    complete: float | None
    missing: int


AGES = """
    SELECT extract(epoch FROM now() - max(made_at))::float8 AS newest,
           extract(epoch FROM now() - max(made_at) FILTER (WHERE missing = 0))::float8 AS complete,
           coalesce((SELECT missing FROM backup WHERE drilled ORDER BY made_at DESC LIMIT 1), 0) AS missing
      FROM backup WHERE drilled
"""


async def ages(db: DB) -> BackupAges:
    """How old the verified backups are, by the database's clock."""
    return BackupAges(**await db.fetchrow(AGES))


WAITING_COPY = "SELECT backup_made_at FROM restored_copy WHERE continued_at IS NULL ORDER BY restored_at DESC LIMIT 1"


async def waiting_copy(db: DB) -> datetime | None:
    """The date of the backup from which this database was restored, if its runs still wait for the operator.

    None if the database is not a restored copy, or if the operator has let its runs continue.
    """
    made_at: datetime | None = await db.fetchval(WAITING_COPY)
    return made_at


CONTINUE = "UPDATE restored_copy SET continued_at = now() WHERE continued_at IS NULL"


async def let_continue(db: DB) -> None:
    """Let the runs of a restored database continue."""
    await db.execute(CONTINUE)
