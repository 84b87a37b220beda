"""Jobs: model work on a book outside a run, such as an outline. A book has at most one."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from bookgen.models import Rewrite
from bookgen.store.database import DB

TAKE = """
    INSERT INTO book_job (book_id, owner, kind, edits, unpaid_words) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (book_id) DO UPDATE
       SET owner = EXCLUDED.owner, kind = EXCLUDED.kind, edits = EXCLUDED.edits, unpaid_words = EXCLUDED.unpaid_words,
           started_at = now()
"""


async def take(connection: asyncpg.Connection, book_id: int, owner: UUID, kind: str, takes: Rewrite | None) -> None:
    """Record that the book's job has started. The caller has checked that no living process has a job on this book.

    `takes`: what rewriting a chapter or passage costs once the new text is saved. None for other jobs.
    """
    await connection.execute(
        TAKE, book_id, owner, kind, takes.edits if takes else 0, takes.unpaid_words if takes else 0
    )


IN_FLIGHT = """
      FROM book_job j JOIN book b ON b.id = j.book_id JOIN process p ON p.boot_id = j.owner AND p.lease_until > now()
     WHERE b.account_id = $1
"""

EDITS_IN_FLIGHT = f"""
    SELECT coalesce(sum(CASE WHEN j.kind = 'chapter' THEN j.edits ELSE (b.outlines_made >= $2)::int END), 0) AS edits,
           coalesce(sum(j.unpaid_words), 0) AS unpaid_words
    {IN_FLIGHT}
"""


async def edits_in_flight(db: DB, account_id: int, free_outlines: int) -> Rewrite:
    """The AI edits reserved by work in progress on the account's books.

    An outline is counted here if its book has already had `free_outlines` outlines. `billing.outlines.beyond_free` says
    how many of the other outlines count too.
    """
    row = await db.fetchrow(EDITS_IN_FLIGHT, account_id, free_outlines)
    return Rewrite(int(row["edits"]), int(row["unpaid_words"]))


TAKEN = "SELECT edits, unpaid_words FROM book_job WHERE book_id = $1"


async def taken(db: DB, book_id: int) -> Rewrite:
    """What the book's job costs once its result is saved. Both numbers are 0 if the book has no job."""
    row = await db.fetchrow(TAKEN, book_id)
    return Rewrite(row["edits"], row["unpaid_words"]) if row else Rewrite(0, 0)


OUTLINES_IN_FLIGHT = f"SELECT count(*) {IN_FLIGHT} AND j.kind = 'outline' AND b.outlines_made < $2"


async def outlines_in_flight(db: DB, account_id: int, most_made: int) -> int:
    """How many outlines are in progress for books of the account that have had fewer than `most_made` so far."""
    return int(await db.fetchval(OUTLINES_IN_FLIGHT, account_id, most_made))


OUTLINES_MADE = "SELECT outlines_made FROM book WHERE id = $1"


async def outlines_made(db: DB, book_id: int) -> int:
    """How many outlines and outline reworks the book has had."""
    return int(await db.fetchval(OUTLINES_MADE, book_id) or 0)


COUNT_OUTLINE = "UPDATE book SET outlines_made = outlines_made + 1 WHERE id = $1 RETURNING outlines_made"


async def count_outline(connection: asyncpg.Connection, book_id: int) -> int:
    """Count one more outline or rework. Returns the new total of the book."""
    return int(await connection.fetchval(COUNT_OUTLINE, book_id))


# The job's replies were stored only to record their cost. Nothing reads them again.
END = """
    WITH forgotten AS (DELETE FROM step WHERE book_id = $1 AND run_id IS NULL)
    DELETE FROM book_job WHERE book_id = $1 AND owner = $2 RETURNING 1
"""


async def end(db: DB, book_id: int, owner: UUID) -> bool:
    """End the book's job if the process `owner` still has it. Returns whether the job was ended."""
    return await db.fetchval(END, book_id, owner) is not None


# A job that began within the last minute may not be in the caller's `in_flight` list yet.
FORGET_LOST = """
    DELETE FROM book_job
     WHERE owner = $1 AND book_id <> ALL($2::bigint[]) AND started_at < now() - interval '1 minute'
"""


async def forget_lost(db: DB, owner: UUID, in_flight: Sequence[int]) -> None:
    """Delete the process's job rows that are not `in_flight`. A failover can bring back the row of a finished job."""
    await db.execute(FORGET_LOST, owner, in_flight)


CALL_OFF = "DELETE FROM book_job WHERE book_id = $1"


async def call_off(connection: asyncpg.Connection, book_id: int) -> None:
    """Cancel the book's job. If the process that works on it is alive after all, the job's result will be ignored."""
    await connection.execute(CALL_OFF, book_id)
