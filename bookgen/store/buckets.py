"""Token buckets in the database, for limits that guard money and passwords. All processes share them."""

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


# As above. `full_at` is when the bucket is full again, and its row says no more than none would.
TAKE_FROM = """
    WITH taken AS (
        INSERT INTO caller_bucket AS b (name, caller, tokens, full_at)
        VALUES ($1, $2, $3::float8 - 1, clock_timestamp() + interval '1 second' / $4::float8)
        ON CONFLICT (name, caller) DO UPDATE
           SET tokens = least($3, b.tokens + extract(epoch FROM clock_timestamp() - b.touched_at) * $4) - 1,
               touched_at = clock_timestamp(),
               full_at = greatest(b.full_at, clock_timestamp()) + interval '1 second' / $4
         WHERE least($3, b.tokens + extract(epoch FROM clock_timestamp() - b.touched_at) * $4) >= 1
        RETURNING tokens
    )
    SELECT true AS allowed, tokens FROM taken
    UNION ALL
    SELECT false, least($3, tokens + extract(epoch FROM clock_timestamp() - touched_at) * $4)
      FROM caller_bucket
     WHERE name = $1 AND caller = $2 AND NOT EXISTS (SELECT FROM taken)
"""


async def take_from(db: DB, name: str, caller: str, *, capacity: int, rate: float) -> tuple[bool, float]:
    """Take one token from a caller's bucket, like `take` for an account's bucket."""
    row = await db.fetchrow(TAKE_FROM, name, caller, float(capacity), rate)
    if row is None:
        return False, 0.0
    return row["allowed"], max(0.0, row["tokens"])


GIVE_BACK = "UPDATE caller_bucket SET tokens = least($3::float8, tokens + 1) WHERE name = $1 AND caller = $2"


async def give_back(db: DB, name: str, caller: str, *, capacity: int) -> None:
    """Return a token to a caller's bucket."""
    await db.execute(GIVE_BACK, name, caller, float(capacity))
