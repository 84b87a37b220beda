"""Stored model calls and the ledger of what they used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from bookgen.models import Usage
from bookgen.store.database import DB

FIND = "SELECT reply FROM step WHERE book_id = $1 AND key = $2"


async def find(db: DB, book_id: int, key: str) -> dict[str, Any] | None:
    reply: dict[str, Any] | None = await db.fetchval(FIND, book_id, key)
    return reply


@dataclass(frozen=True, slots=True)
class PaidCall:
    """A model call that was answered. `cost_micros` is None when the price table does not know the model."""

    account_id: int
    book_id: int
    run_id: UUID | None
    key: str
    stage: str
    chapter_number: int | None
    reply: dict[str, Any]
    model: str
    usage: Usage
    cost_micros: int | None


# The reply and its price are one fact: both are there or neither is, however often this is repeated. A reply that
# is new is progress, which clears the run of suspicion.
SAVE = """
    WITH stored AS (
        INSERT INTO step (book_id, key, run_id, stage, chapter_number, reply)
        VALUES ($2, $3, $4, $5, $6, $7)
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), progress AS (
        UPDATE run SET crash_count = 0 WHERE id = $4 AND crash_count > 0 AND EXISTS (SELECT FROM stored)
    )
    INSERT INTO model_call (account_id, book_id, run_id, stage, chapter_number, model, input_tokens, output_tokens,
                            cache_write_tokens, cache_read_tokens, images, cost_micros)
    SELECT $1, $2, $4, $5, $6, $8, $9, $10, $11, $12, $13, $14 FROM stored
"""


async def save(db: DB, call: PaidCall) -> None:
    await db.execute(
        SAVE, call.account_id, call.book_id, call.key, call.run_id, call.stage, call.chapter_number, call.reply,
        call.model, call.usage.input_tokens, call.usage.output_tokens, call.usage.cache_write_tokens,
        call.usage.cache_read_tokens, call.usage.images, call.cost_micros,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A model call that gave no reply and has used tokens."""

    account_id: int
    book_id: int
    run_id: UUID | None
    stage: str
    chapter_number: int | None
    model: str
    usage: Usage
    cost_micros: int | None


CHARGE = """
    INSERT INTO model_call (account_id, book_id, run_id, stage, chapter_number, model, input_tokens, output_tokens,
                            cache_write_tokens, cache_read_tokens, images, cost_micros)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""


async def charge(db: DB, call: FailedCall) -> None:
    await db.execute(
        CHARGE, call.account_id, call.book_id, call.run_id, call.stage, call.chapter_number, call.model,
        call.usage.input_tokens, call.usage.output_tokens, call.usage.cache_write_tokens,
        call.usage.cache_read_tokens, call.usage.images, call.cost_micros,
    )  # fmt: skip


SPENT = """
    SELECT coalesce(sum(cost_micros) FILTER (WHERE book_id = $2), 0)::bigint AS book,
           coalesce(sum(cost_micros) FILTER (
               WHERE account_id = $1 AND created_at >= date_trunc('day', now())), 0)::bigint AS today
      FROM model_call
     WHERE book_id = $2 OR account_id = $1 AND created_at >= date_trunc('day', now())
"""


async def spent(db: DB, account_id: int, book_id: int) -> tuple[int, int]:
    """What the book has cost so far and what the account has cost today, in millionths."""
    row = await db.fetchrow(SPENT, account_id, book_id)
    return row["book"], row["today"]
