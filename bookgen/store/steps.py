"""Steps: replies of model calls, stored under the hash of their request."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import asyncpg

from bookgen.store.database import DB
from bookgen.store.model_calls import BOOK, LEDGER, ONCE, Step, values_of
from bookgen.store.runs import LOST_REPLY, PROGRESS

FIND = "SELECT reply FROM step WHERE book_id = $1 AND key = $2"


async def find(db: DB, book_id: int, key: str) -> dict[str, Any] | None:
    reply: dict[str, Any] | None = await db.fetchval(FIND, book_id, key)
    return reply


# Stores a reply and its price together. Idempotent. If a reply with this key exists, it stays and only the price is
# added. If the run has ended, only the price is stored: a process that was cut off from the database may still have
# worked on it, or a stop came between the reply and the end of its chapter. After a stop the words asked for count as
# lost, like those of a call that the stop cut off. FOR NO KEY UPDATE waits for a transaction that ends the run, since
# that deletes the run's steps.
SAVE = f"""
    WITH of_run AS (SELECT status, epoch FROM run WHERE id = $3 FOR NO KEY UPDATE), of_book AS ({BOOK}), stored AS (
        INSERT INTO step (book_id, key, run_id, stage, chapter_number, reply)
        SELECT id, $6, $3, $4, $5, $7 FROM of_book
         WHERE NOT EXISTS (SELECT FROM of_run WHERE status IN ('stopped', 'completed'))
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), {PROGRESS}, entered AS (
        INSERT INTO {LEDGER}
        SELECT $1, (SELECT id FROM of_book), $3, $4, $5, call.*
          FROM unnest($8::uuid[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
                      $14::integer[], $15::bigint[]) AS call
        {ONCE}
        RETURNING 1
    ), {LOST_REPLY}
    SELECT epoch FROM of_run WHERE status = 'running'
"""


async def save(db: DB, step: Step, draft_words: int | None = None) -> int | None:
    """Store a step and the price of its calls. Returns the run's epoch; None without a run or if it is not running.

    The epoch changes when another process takes over the run. `draft_words`: how many words the unfinished chapter has
    with this reply; None if the reply is not a part of a chapter. Only the price is stored if the book was deleted, or
    if the run was stopped or completed. Idempotent.
    """
    entry = step.entry
    epoch: int | None = await db.fetchval(
        SAVE, entry.account_id, entry.book_id, entry.run_id, entry.stage, entry.chapter_number, step.key, step.reply,
        *values_of(entry.calls), draft_words, step.words,
    )  # fmt: skip
    return epoch


INSERT = """
    INSERT INTO step (book_id, key, run_id, stage, chapter_number, reply)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""


async def insert(connection: asyncpg.Connection, step: Step) -> None:
    """Store a step without the price of its calls (see `model_calls.charge`). The caller has locked the run."""
    entry = step.entry
    await connection.execute(
        INSERT, entry.book_id, step.key, entry.run_id, entry.stage, entry.chapter_number, step.reply
    )


FORGET = "DELETE FROM step WHERE run_id = $1 AND ($2::int IS NULL OR chapter_number = $2)"


async def forget(connection: asyncpg.Connection, run_id: UUID, chapter_number: int | None = None) -> None:
    """Delete the run's stored replies, for one chapter or for all."""
    await connection.execute(FORGET, run_id, chapter_number)


FORGET_FINISHED = "DELETE FROM step WHERE run_id = $1 AND chapter_number IS DISTINCT FROM $2::int"


async def forget_finished(connection: asyncpg.Connection, run_id: UUID, unfinished: int | None) -> None:
    """Delete the run's stored replies, except those of chapter number `unfinished`, which the next run uses."""
    await connection.execute(FORGET_FINISHED, run_id, unfinished)
