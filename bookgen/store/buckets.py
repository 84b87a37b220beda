"""Token buckets in the database, for rate limits on expensive work. All processes share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.store.database import DB

# One statement, so two processes never hand out the same token. A refused request changes no row.
TAKE = """
    WITH taken AS (
        INSERT INTO rate_bucket AS b (account_id, name, tokens)
        VALUES ($1, $2, $3::float8 - 1)
        ON CONFLICT (account_id, name) DO UPDATE
           SET tokens = least($3, b.tokens + extract(epoch FROM clock_timestamp() - b.touched_at) * $4::float8) - 1,
               touched_at = clock_timestamp()
         WHERE least($3, b.tokens + extract(epoch FROM clock_timestamp() - b.touched_at) * $4) >= 1
        RETURNING tokens
    )
    SELECT true AS allowed, tokens FROM taken
    UNION ALL
    SELECT false, least($3, tokens + extract(epoch FROM clock_timestamp() - touched_at) * $4)
      FROM rate_bucket
     WHERE account_id = $1 AND name = $2 AND NOT EXISTS (SELECT FROM taken)
"""


async def take(db: DB, account_id: int, name: str, *, capacity: int, rate: float) -> tuple[bool, float]:
    """Take one token if there is one. Returns whether one was taken, and how many are left."""
    row = await db.fetchrow(TAKE, account_id, name, float(capacity), rate)
    if row is None:  # another process has just created the row and taken its last token
        return False, 0.0
    return row["allowed"], max(0.0, row["tokens"])
