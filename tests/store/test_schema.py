"""Properties of the tables in sql/, checked by the server itself."""

from __future__ import annotations

import asyncpg

# Tables whose rows are never deleted.
KEPT = ("account", "plan", "addon", "wallet", "credit_lot")

# The foreign keys for which deleting a row scans the whole referencing table.
WITHOUT_INDEX = """
    SELECT format('%s.%s', k.conrelid::regclass, a.attname)
      FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
     WHERE k.contype = 'f' AND k.confrelid::regclass::text <> ALL($1::text[])
       AND NOT EXISTS (
           SELECT FROM pg_index i
            WHERE i.indrelid = k.conrelid AND i.indkey[0] = k.conkey[1]
              AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname)))
"""


async def test_rows_deleted_by_a_cascade_are_found_by_an_index(pool: asyncpg.Pool) -> None:
    assert [row[0] for row in await pool.fetch(WITHOUT_INDEX, KEPT)] == []
