"""The backups made of this database, and whether it is itself a restored copy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """A backup. `drilled`: it was verified by a trial restore."""

    made_at: datetime
    drilled: bool
    bytes: int
    file: str


HAS_TABLE = "SELECT to_regclass('backup') IS NOT NULL"
RECORD = "INSERT INTO backup (made_at, drilled, bytes, file) VALUES ($1, $2, $3, $4)"


async def record(db: DB, backup: BackupRecord) -> None:
    """Record a backup, unless the database is too old to have the table."""
    if await db.fetchval(HAS_TABLE):
        await db.execute(RECORD, backup.made_at, backup.drilled, backup.bytes, backup.file)


LAST_DRILLED = "SELECT made_at, drilled, bytes, file FROM backup WHERE drilled ORDER BY made_at DESC LIMIT 1"


async def last_drilled(db: DB) -> BackupRecord | None:
    """The newest verified backup."""
    row = await db.fetchrow(LAST_DRILLED)
    return row and BackupRecord(**row)


SCHEDULE_LOCK = 0x626F6F6B62616B  # "bookbak"
CLAIM = "SELECT pg_try_advisory_lock($1)"


async def claim(connection: asyncpg.Connection) -> bool:
    """Claim the schedule for as long as the connection lives. False if another process has it."""
    claimed: bool = await connection.fetchval(CLAIM, SCHEDULE_LOCK)
    return claimed


IS_DUE = """
    SELECT NOT EXISTS (
        SELECT FROM backup
         WHERE drilled AND made_at > now() - $2 * interval '1 second' AND starts_with(file, $1 || '/'))
"""


async def is_due(db: DB, folder: str, every: float) -> bool:
    """Whether the folder has no drilled backup of the last `every` seconds, by the database's clock."""
    due: bool = await db.fetchval(IS_DUE, folder, every)
    return due


AGE = "SELECT extract(epoch FROM now() - max(made_at))::float8 FROM backup WHERE drilled"


async def age_seconds(db: DB) -> float | None:
    """The age of the newest verified backup by the database's clock; None if there is none, or no table."""
    age: float | None = await db.fetchval(AGE) if await db.fetchval(HAS_TABLE) else None
    return age


WAITING_COPY = "SELECT backup_made_at FROM restored_copy WHERE continued_at IS NULL ORDER BY restored_at DESC LIMIT 1"


async def waiting_copy(db: DB) -> datetime | None:
    """The date of the backup from which this database was restored, while its runs wait; otherwise None."""
    made_at: datetime | None = await db.fetchval(WAITING_COPY)
    return made_at


CONTINUE = "UPDATE restored_copy SET continued_at = now() WHERE continued_at IS NULL"


async def let_continue(db: DB) -> None:
    """Let the runs of a restored database continue."""
    await db.execute(CONTINUE)
