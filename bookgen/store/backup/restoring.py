"""Restores a backup into an empty database, in one transaction: completely or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

from bookgen.errors import Conflict, StartupError
from bookgen.store import ownership
from bookgen.store.backup.frames import FrameKind, FrameReader
from bookgen.store.backup.tables import TableDigest, digest_of, quoted, tables
from bookgen.store.migrate import Migration, apply_within, lock, read_migrations, require_usable_database


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description at the start of a backup."""

    made_at: datetime
    bookgen: str
    server: str
    migrations: Mapping[int, str]
    tables: Sequence[str]


@dataclass(slots=True)
class Contents:
    """What has been read from a backup so far.

    `export`: the id of a book, and the digest of a file that the book was exported to when the backup was made. A trial
    restore exports the book again and compares the digests. `missing`: how many pictures had lost their file when the
    backup was made.
    """

    manifest: Manifest
    digests: dict[str, TableDigest] = field(default_factory=dict)
    sequences: Mapping[str, int] = field(default_factory=dict)
    export: Mapping[str, Any] | None = None
    missing: int = 0


async def read_manifest(frames: FrameReader) -> Manifest:
    """The manifest, which is the first frame."""
    content = await frames.expect(FrameKind.MANIFEST)
    return Manifest(
        datetime.fromisoformat(content["made_at"]),
        content["bookgen"],
        content["server"],
        {int(number): sha256 for number, sha256 in content["migrations"].items()},
        content["tables"],
    )


def schema_of(manifest: Manifest, folder: Path) -> list[Migration]:
    """The migrations of the backup's database. Raises StartupError if this version does not know all of them."""
    known = [each for each in read_migrations(folder) if manifest.migrations.get(each.version) == each.sha256]
    if len(known) < len(manifest.migrations):
        raise StartupError(
            f"The backup was made by bookgen {manifest.bookgen} with migration {max(manifest.migrations):04d}, which "
            "this version does not know. Restore it with that version or a newer one."
        )
    return known


IS_EMPTY = """
    SELECT NOT EXISTS (
        SELECT FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f'))
"""


@asynccontextmanager
async def empty_target(connection: asyncpg.Connection, what_to_do: str) -> AsyncIterator[None]:
    """A context with a transaction on the database to restore into. Until its end, no service can migrate the database.

    Raises StartupError if the database is not empty; the error message ends with the sentence `what_to_do`.
    """
    await require_usable_database(connection)
    await lock(connection)
    async with connection.transaction():
        if not await connection.fetchval(IS_EMPTY):
            raise StartupError(f"The target is not empty, and nothing in it was changed. {what_to_do}")
        yield


async def restore_rows(connection: asyncpg.Connection, frames: FrameReader, contents: Contents, folder: Path) -> None:
    """Create the schema of the backup and insert the rows of all its tables."""
    await apply_within(connection, schema_of(contents.manifest, folder))
    made = [table.name for table in await tables(connection)]
    if strange := set(contents.manifest.tables) - set(made):
        raise StartupError(
            f"The backup has a table {min(strange)}, which its own migrations do not create. Use another backup."
        )
    references = await _without_references(connection, made)
    for _ in contents.manifest.tables:
        await _restore_table(connection, frames, contents)
    for reference in references:
        await connection.execute(reference)
    for name in made:
        await connection.execute(f"ALTER TABLE {quoted([name])} ENABLE TRIGGER USER")


REFERENCES = """
    SELECT conrelid::regclass AS "table", quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
      FROM pg_constraint
     WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND conparentid = 0
     ORDER BY conrelid::regclass::text, conname
"""


async def _without_references(connection: asyncpg.Connection, names: Sequence[str]) -> list[str]:
    """Empty all tables, drop their foreign keys and disable their triggers. Returns the SQL that adds the keys again.

    Without the keys, rows can be inserted in any order. Each key is then checked once at the end instead of once per
    row.
    """
    found = await connection.fetch(REFERENCES)
    for row in found:
        await connection.execute(f"ALTER TABLE {row['table']} DROP CONSTRAINT {row['name']}")
    for name in names:
        await connection.execute(f"ALTER TABLE {quoted([name])} DISABLE TRIGGER USER")
    await connection.execute(f"TRUNCATE {quoted(names)}")  # the rows that migrations make
    return [f"ALTER TABLE {row['table']} ADD CONSTRAINT {row['name']} {row['definition']}" for row in found]


async def _restore_table(connection: asyncpg.Connection, frames: FrameReader, contents: Contents) -> None:
    table = await frames.expect(FrameKind.TABLE)
    status = await connection.copy_to_table(
        table["name"], source=frames.data(), columns=table["columns"], format="binary"
    )
    rows = int(status.split()[-1])
    contents.digests[table["name"]] = digest_of(frames.end)
    if rows != frames.end["rows"]:
        raise Conflict(f"The table {table['name']} got {rows} rows, but {frames.end['rows']} were backed up.")


async def restore_sequences(connection: asyncpg.Connection, sequences: Mapping[str, int]) -> None:
    """Set the sequences to the values stored in the backup, by name."""
    for name, value in sequences.items():
        await connection.execute("SELECT setval(to_regclass($1), $2)", quoted([name]), value)


MAKE_COPY_TABLE = """
    CREATE TABLE IF NOT EXISTS restored_copy (
        backup_made_at timestamptz NOT NULL,
        restored_at    timestamptz NOT NULL DEFAULT now(),
        continued_at   timestamptz
    )
"""
MARK_AS_COPY = "INSERT INTO restored_copy (backup_made_at) VALUES ($1)"
FORGET_PROCESSES = "DELETE FROM process"


async def mark_as_copy(connection: asyncpg.Connection, made_at: datetime) -> None:
    """Mark the database as a restored copy, whose runs wait until the operator lets them continue.

    Also release the runs, because the processes that own them belong to the original database.
    """
    await connection.execute(MAKE_COPY_TABLE)
    await connection.execute(MARK_AS_COPY, made_at)
    await connection.execute(FORGET_PROCESSES)
    await ownership.release_all(connection)
