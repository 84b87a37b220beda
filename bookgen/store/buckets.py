"""Token buckets in the database, for limits that guard money and passwords. All processes share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.store.database import DB


def _taking(table: str, owner: str, *, also: str = "", its_value: str = "", its_change: str = "") -> str:
    """SQL that takes a token from the bucket named $2 of the owner $1.

    $3 is the bucket's capacity, $4 the number of tokens that the bucket gains per second.
    `also`: SQL that names one more column to set; `its_value` sets it in a new row, `its_change` in an existing row.
    The SQL is one statement, so two processes never hand out the same token. A refused request changes no row.
    """
    return f"""
    WITH taken AS (
        INSERT INTO {table} AS b ({owner}, name, tokens{also})
        VALUES ($1, $2, $3::float8 - 1{its_value})
        ON CONFLICT ({owner}, name) DO UPDATE
           SET tokens = least($3, b.tokens + extract(epoch FROM clock_timestamp() - b.touched_at) * $4::float8) - 1,
               touched_at = clock_timestamp(){its_change}
         WHERE least($3, b.tokens + extract(epoch FROM clock_timestamp() - b.touched_at) * $4) >= 1
        RETURNING tokens
    )
    SELECT true AS allowed, tokens FROM taken
    UNION ALL
    SELECT false, least($3, tokens + extract(epoch FROM clock_timestamp() - touched_at) * $4)
      FROM {table}
     WHERE {owner} = $1 AND name = $2 AND NOT EXISTS (SELECT FROM taken)
"""


TAKE = _taking("rate_bucket", "account_id")


async def take(db: DB, account_id: int, name: str, *, capacity: int, rate: float) -> tuple[bool, float]:
    """Take one token if there is one. Returns whether one was taken, and how many are left.

    The bucket gains `rate` tokens per second, up to `capacity`.
    """
    return await _take(db, TAKE, account_id, name, capacity, rate)


# `full_at`: when the bucket is full again. A full bucket needs no row, so the row is deleted then.
TAKE_FROM = _taking(
    "caller_bucket",
    "caller",
    also=", full_at",
    its_value=", clock_timestamp() + interval '1 second' / $4::float8",
    its_change=", full_at = greatest(b.full_at, clock_timestamp()) + interval '1 second' / $4",
)


async def take_from(db: DB, name: str, caller: str, *, capacity: int, rate: float) -> tuple[bool, float]:
    """Like `take`, but for callers that are not accounts, such as network addresses."""
    return await _take(db, TAKE_FROM, caller, name, capacity, rate)


async def _take(db: DB, statement: str, owner: int | str, name: str, capacity: int, rate: float) -> tuple[bool, float]:
    row = await db.fetchrow(statement, owner, name, float(capacity), rate)
    if row is None:  # another process has just created the row and taken its last token
        return False, 0.0
    return row["allowed"], max(0.0, row["tokens"])


GIVE_BACK = "UPDATE caller_bucket SET tokens = least($3::float8, tokens + 1) WHERE name = $1 AND caller = $2"


async def give_back(db: DB, name: str, caller: str, *, capacity: int) -> None:
    """Return a token to a caller's bucket."""
    await db.execute(GIVE_BACK, name, caller, float(capacity))
