"""Takes a backup: the rows of one snapshot, while a service keeps writing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import asyncpg

from bookgen.errors import StartupError
from bookgen.store.backup.frames import FrameKind, FrameWriter
from bookgen.store.backup.tables import StoredTable, TableDigest, copy_out, made_by, quoted, split_by_name, tables
from bookgen.store.migrate import applied, read_migrations
from bookgen.store.stored_files import StoredFile

PIECE_BYTES = 1 << 18
IS_OURS = "SELECT to_regclass('schema_migration') IS NOT NULL"
NOW = "SELECT now() AS made_at, current_setting('server_version') AS server"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A transaction with a fixed view of the database. `left_out`: tables that are not bookgen's; they are not read."""

    connection: asyncpg.Connection
    made_at: datetime
    server: str
    migrations: Mapping[int, str]
    tables: Collection[StoredTable]
    left_out: Collection[str]


@asynccontextmanager
async def snapshot(connection: asyncpg.Connection, migrations: Path) -> AsyncIterator[Snapshot]:
    """A context with a read-only snapshot of the database. While it is open, changes of the schema have to wait.

    Raises StartupError if the database is not bookgen's, or if it is newer than this version.
    """
    if not await connection.fetchval(IS_OURS):
        raise StartupError("This database is empty: there is nothing to back up.")
    names = quoted(table.name for table in await tables(connection))
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        # The locks come first: the snapshot is taken by the first query, and must not be older than the schema.
        await connection.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
        found, left_out = split_by_name(await tables(connection), made_by(migrations))
        row = await connection.fetchrow(NOW)
        has = await applied(connection)
        known = {each.version: each.sha256 for each in read_migrations(migrations)}
        if strange := [version for version, sha256 in has.items() if known.get(version) != sha256]:
            raise StartupError(
                f"the database has migration {max(strange):04d}, which this version of bookgen does not know. "
                "Back it up with the version that made it."
            )
        yield Snapshot(connection, row["made_at"], row["server"], has, found, left_out)


async def write_manifest(frames: FrameWriter, taken: Snapshot, version: str) -> None:
    manifest = {
        "made_at": taken.made_at.isoformat(),
        "bookgen": version,
        "server": taken.server,
        "migrations": {str(number): sha256 for number, sha256 in sorted(taken.migrations.items())},
        "tables": [table.name for table in taken.tables],
    }
    await frames.write_json(FrameKind.MANIFEST, manifest)


async def write_rows(frames: FrameWriter, taken: Snapshot) -> dict[str, TableDigest]:
    """Write all tables, and return the digest of each table by its name."""
    digests = {}
    for table in taken.tables:
        await frames.write_json(FrameKind.TABLE, {"name": table.name, "columns": table.columns})
        digests[table.name] = await copy_out(taken.connection, table, frames.write_data)
        await frames.write_json(FrameKind.END, {"rows": digests[table.name].rows, "sha256": digests[table.name].sha256})
    return digests


async def write_files(frames: FrameWriter, folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Write files to the backup. `files` maps each path below `folder` to its content, or to None to read the file."""
    for name, content in files.items():
        await frames.write_json(FrameKind.FILE, {"name": name})
        if content is not None:
            await frames.write_data(content)
        else:
            await _write_file(frames, folder / name)
        await frames.write_json(FrameKind.END, {})


async def write_stored(frames: FrameWriter, file: StoredFile, content: bytes) -> None:
    """Write a picture or export that is stored outside the database, identified by the id of its row."""
    await frames.write_json(FrameKind.STORED, {"id": file.id})
    for at in range(0, len(content), PIECE_BYTES):
        await frames.write_data(content[at : at + PIECE_BYTES])
    await frames.write_json(FrameKind.END, {})


async def _write_file(frames: FrameWriter, path: Path) -> None:
    with path.open("rb") as file:
        while data := await asyncio.to_thread(file.read, PIECE_BYTES):
            await frames.write_data(data)


# Sequences are not part of a snapshot. Read after the rows, they are at or beyond every number in them.
SEQUENCES = """
    SELECT sequencename AS name, last_value
      FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL
     ORDER BY sequencename
"""


async def sequences(connection: asyncpg.Connection) -> dict[str, int]:
    """The last value of each sequence that has one, by name."""
    return {row["name"]: row["last_value"] for row in await connection.fetch(SEQUENCES)}
