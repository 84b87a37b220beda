"""The tables of a database for a backup, read in an order that depends only on their rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bookgen.store.migrate import read_migrations

CREATED = re.compile(r"^CREATE TABLE (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
LEDGER = "schema_migration"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table with the names of the columns that are stored, and the quoted expressions that order its rows."""

    name: str
    columns: Sequence[str]
    order: Sequence[str]


@dataclass(frozen=True, slots=True)
class TableDigest:
    """How many rows a table has, and the SHA-256 of all its rows."""

    rows: int
    sha256: str


# Text is ordered by its bytes, because collations differ between servers. A table without a primary key is ordered by
# all its columns.
TABLES = """
    SELECT c.relname AS name,
           array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS columns,
           array_agg(quote_ident(a.attname) || CASE WHEN a.attcollation <> 0 THEN ' COLLATE "C"' ELSE '' END
                     ORDER BY array_position(i.indkey::int2[], a.attnum), a.attnum)
               FILTER (WHERE i.indkey IS NULL OR a.attnum = ANY (i.indkey::int2[])) AS "order"
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
     GROUP BY c.relname
     ORDER BY c.relname
"""


async def every_table(connection: asyncpg.Connection) -> list[StoredTable]:
    """All tables of the schema, including the ledger of migrations."""
    return [StoredTable(**row) for row in await connection.fetch(TABLES)]


async def tables(connection: asyncpg.Connection) -> list[StoredTable]:
    """All tables of the schema, except the ledger of migrations."""
    return [table for table in await every_table(connection) if table.name != LEDGER]


def made_by(migrations: Path) -> frozenset[str]:
    """The names of the tables that the migrations create."""
    return frozenset(name for each in read_migrations(migrations) for name in CREATED.findall(each.sql))


def split_by_name(found: Collection[StoredTable], ours: Collection[str]) -> tuple[list[StoredTable], list[str]]:
    """The tables in `found` whose names are in `ours`, and the names of the remaining tables in `found`."""
    return [each for each in found if each.name in ours], [each.name for each in found if each.name not in ours]


async def copy_out(
    connection: asyncpg.Connection, table: StoredTable, write: Callable[[bytes], Awaitable[None]] | None = None
) -> TableDigest:
    """Read all rows of the table in order, pass their bytes to `write` if given, and return their digest."""
    seen = hashlib.sha256()

    async def take(data: bytes) -> None:
        seen.update(data)
        if write is not None:
            await write(data)

    query = f"SELECT {quoted(table.columns)} FROM {quoted([table.name])} ORDER BY {', '.join(table.order)}"
    status = await connection.copy_from_query(query, output=take, format="binary")
    return TableDigest(int(status.split()[-1]), seen.hexdigest())


def quoted(names: Iterable[str]) -> str:
    """The names as quoted SQL identifiers, separated by commas."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def digest_of(content: Mapping[str, Any]) -> TableDigest:
    """The digest of a table. `content`: the content of the `end` frame that follows the table's rows in a backup."""
    return TableDigest(content["rows"], content["sha256"])
