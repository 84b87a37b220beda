"""The records of backups, in the current schema and in those of earlier releases."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from bookgen.store import backups
from bookgen.store.backups import BackupRecord

OLD = Path(__file__).parent / "schemas/0.4.0.sql"
FILES = "SELECT array_agg(file) FROM backup"


async def test_a_database_too_old_for_incomplete_backups_records_only_complete_ones(empty_dsn: str) -> None:
    loading = await asyncpg.connect(empty_dsn)
    await loading.execute(OLD.read_text())
    await loading.close()
    connection = await asyncpg.connect(empty_dsn)
    now = await connection.fetchval("SELECT now()")

    await backups.record(connection, BackupRecord(now, True, 1, "incomplete", missing=2))
    await backups.record(connection, BackupRecord(now, True, 1, "complete"))

    assert await connection.fetchval(FILES) == ["complete"]
    await connection.close()
