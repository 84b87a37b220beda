"""What an account stores: every text column of its books counts, and a new column cannot be forgotten."""

from __future__ import annotations

import asyncpg
import pytest

from bookgen.store import storage
from bookgen.store.rows import text_names

TEXTS = [(table, name) for table, noun in storage.COUNTED.items() for name in text_names(noun)]
# Covered by the bytes that a book and a chapter count besides their texts: enumerated values and bounded fields.
SMALL = {
    "book": {"age_range", "bible", "bible_changes", "characters", "cover_idea", "funding_source", "kind", "status"},
    "chapter": {"quality", "status"},
    "chapter_revision": {"origin"},
    "media": {"key", "source_type"},
}
# Tables whose rows belong to a book and that only the service writes.
UNCOUNTED = {
    "book_job", "cover", "digest", "dismissal", "export_file", "fact", "illustration", "report", "run", "step",
    "suggestion",
}  # fmt: skip
# The variable-length columns of a book and of every table whose rows are deleted with it.
COLUMNS_OF_BOOKS = """
    WITH RECURSIVE gone(id) AS (
        SELECT 'book'::regclass::oid
        UNION
        SELECT k.conrelid FROM pg_constraint k JOIN gone ON k.confrelid = gone.id
         WHERE k.contype = 'f' AND k.confdeltype = 'c')
    SELECT gone.id::regclass::text, a.attname
      FROM gone JOIN pg_attribute a ON a.attrelid = gone.id
     WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attlen = -1
"""
ONE_OF_EACH = """
    WITH a AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id),
         b AS (INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
               SELECT id, '', 1, 500, '6x9', 'en' FROM a RETURNING id, account_id),
         c AS (INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
               SELECT id, 1, '', 500 FROM b RETURNING id),
         r AS (INSERT INTO chapter_revision (chapter_id, origin, content, word_count, title, summary)
               SELECT id, 'editor', '', 0, '', '' FROM c)
    SELECT account_id FROM b
"""


async def test_each_column_of_a_book_counts_towards_storage_or_is_listed_as_small(pool: asyncpg.Pool) -> None:
    columns = {(table, name) for table, name in await pool.fetch(COLUMNS_OF_BOOKS) if table not in UNCOUNTED}

    small = {(table, name) for table, names in SMALL.items() for name in names}
    objects = {("book", "authored_bible"), ("book", "export_settings"), ("chapter", "plan")}
    assert columns == {*TEXTS, ("media", "body")} | objects | small


@pytest.mark.parametrize(("table", "name"), [each for each in TEXTS if each != ("book", "character_sheet_key")])
async def test_a_text_counts_by_its_size_in_bytes(pool: asyncpg.Pool, table: str, name: str) -> None:
    account_id = await pool.fetchval(ONE_OF_EACH)
    before = await storage.stored(pool, account_id)

    await pool.execute(f"UPDATE {table} SET {name} = {name} || repeat('ж', 1000)")  # noqa: S608

    assert await storage.stored(pool, account_id) == before + 2_000


@pytest.mark.parametrize("name", ["authored_bible", "export_settings"])
async def test_what_an_author_writes_into_an_object_counts_by_its_bytes(pool: asyncpg.Pool, name: str) -> None:
    account_id = await pool.fetchval(ONE_OF_EACH)
    before = await storage.stored(pool, account_id)

    await pool.execute(f"UPDATE book SET {name} = jsonb_build_object('voice', repeat('ж', 1000))")  # noqa: S608

    assert await storage.stored(pool, account_id) > before + 2_000
