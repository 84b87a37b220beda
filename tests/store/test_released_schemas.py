"""Databases of earlier releases migrate to the schema of a new database and keep all their data.

`schemas/` has a dump of each release, made by pg_dump 15 of a database in which Ada's book is half written: with the
migrations up to 0041 for 0.1.0, up to 0045 for 0.2.0, up to 0051 for 0.3.0, up to 0054 for 0.4.0, up to 0057 for
0.6.0, and up to 0058 for 0.12.0. The other releases have the schema of the release before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bookgen.app.package_data import migrations
from bookgen.store.migrate import migrate, pending

SCHEMAS = Path(__file__).parent / "schemas"
RELEASES = sorted(SCHEMAS.glob("*.sql"))
SCHEMA_OF_THE_RELEASE_BEFORE = {"0.5.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0", "0.11.0"}

# The definition of the schema as text, without the order of columns.
DESCRIPTION = """
    SELECT format('column %s.%s: %s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                  a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid)) AS line
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('table %s: %s', relname, reloptions) FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    UNION ALL
    SELECT format('constraint %s %s: %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL
    SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT format('invalid index %s', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid
    UNION ALL
    SELECT format('trigger %s', pg_get_triggerdef(t.oid)) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = 'public'::regnamespace AND NOT tgisinternal
    UNION ALL
    SELECT format('function %s', pg_get_functiondef(oid)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""

# Rows from the migrations, without what each database chooses by itself.
SEEDED = """
    SELECT 'plan' AS kind, to_jsonb(t) - 'id' - 'created_at' - 'updated_at' AS row FROM plan t
    UNION ALL
    SELECT 'addon', to_jsonb(t) - 'id' - 'created_at' - 'updated_at' FROM addon t
    UNION ALL
    SELECT 'package', to_jsonb(t) - 'id' - 'created_at' - 'updated_at' FROM credit_package t
    UNION ALL
    SELECT 'migration', to_jsonb(t) - 'applied_at' FROM schema_migration t
"""

OF_ADA = """
    SELECT a.username, b.title, r.status, r.done, c.chapter_number, c.content, v.content AS former
      FROM account a JOIN book b ON b.account_id = a.id JOIN run r ON r.book_id = b.id
      JOIN chapter c ON c.book_id = b.id
      LEFT JOIN chapter_revision v ON v.chapter_id = c.id
     ORDER BY c.chapter_number
"""


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
async def test_the_database_of_a_release_migrates_to_the_new_schema_and_keeps_its_books(
    empty_dsn: str, dsn: str, release: Path
) -> None:
    loading = await asyncpg.connect(empty_dsn)
    await loading.execute(release.read_text())
    await loading.close()
    missing = await pending(empty_dsn, migrations())

    applied = await migrate(empty_dsn, migrations())

    assert applied == missing
    assert not await pending(empty_dsn, migrations())
    old, new = await asyncpg.connect(empty_dsn), await asyncpg.connect(dsn)
    try:
        assert await _described(old) == await _described(new)
        assert await _rows(old, SEEDED) == await _rows(new, SEEDED)
        assert [tuple(row) for row in await old.fetch(OF_ADA)] == [
            ("ada", "The Salt Road", "paused", 1, 1, "The road was white.", "The road was grey."),
            ("ada", "The Salt Road", "paused", 1, 2, "", None),
        ]
    finally:
        await old.close()
        await new.close()


def test_every_release_that_changed_the_schema_has_a_dump() -> None:
    changes = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    released = [line.removeprefix("## ") for line in changes.splitlines() if line.startswith("## ")][1:]

    assert [path.stem for path in RELEASES] == sorted(set(released) - SCHEMA_OF_THE_RELEASE_BEFORE)


async def _described(connection: asyncpg.Connection) -> list[str]:
    return sorted(row["line"] for row in await connection.fetch(DESCRIPTION))


async def _rows(connection: asyncpg.Connection, sql: str) -> list[Any]:
    return sorted((row["kind"], row["row"]) for row in await connection.fetch(sql))
