"""Jobs: model work on a book outside a run, such as an outline or a rewritten chapter. A book has at most one.

A plan allows a number of AI edits per period. Rewriting a chapter costs one or more of them. The first outlines of a
book are free, and each further one costs an AI edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from bookgen.models import Rewrite
from bookgen.store.database import DB

START = """
    INSERT INTO book_job (book_id, owner, kind, edits, unpaid_words) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (book_id) DO UPDATE
       SET owner = EXCLUDED.owner, kind = EXCLUDED.kind, edits = EXCLUDED.edits, unpaid_words = EXCLUDED.unpaid_words,
           started_at = now()
"""


async def start(connection: asyncpg.Connection, book_id: int, owner: UUID, kind: str, cost: Rewrite | None) -> None:
    """Record that the book's job has started. The caller has checked that no live process has a job on this book.

    `kind`: "outline" or "chapter". `cost`: the AI edits that the rewrite of a chapter or passage costs, which are
    reserved while the job runs. None for an outline.
    """
    await connection.execute(START, book_id, owner, kind, cost.edits if cost else 0, cost.unpaid_words if cost else 0)


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
    """The AI edits that jobs in progress on the account's books will cost.

    An outline counts as one AI edit if its book has had at least `free_outlines` outlines before. The other outlines
    are not counted here: see `billing.outlines.beyond_free`.
    """
    row = await db.fetchrow(EDITS_IN_FLIGHT, account_id, free_outlines)
    return Rewrite(int(row["edits"]), int(row["unpaid_words"]))


RESERVED_EDITS = "SELECT edits, unpaid_words FROM book_job WHERE book_id = $1"


async def reserved_edits(db: DB, book_id: int) -> Rewrite:
    """The AI edits that the book's job has reserved. Both numbers are 0 if there is no job, or if it is an outline."""
    row = await db.fetchrow(RESERVED_EDITS, book_id)
    return Rewrite(row["edits"], row["unpaid_words"]) if row else Rewrite(0, 0)


OUTLINES_IN_FLIGHT = f"SELECT count(*) {IN_FLIGHT} AND j.kind = 'outline' AND b.outlines_made < $2"


async def outlines_in_flight(db: DB, account_id: int, most_made: int) -> int:
    """How many outlines are in progress for books of the account that have had fewer than `most_made` outlines."""
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
    """Delete the process's job rows for books that are not in `in_flight`, the books whose jobs it is doing now.

    A failover of the database can bring back the row of a finished job. Rows younger than a minute are left alone.
    """
    await db.execute(FORGET_LOST, owner, in_flight)


CANCEL = "DELETE FROM book_job WHERE book_id = $1"


async def cancel(connection: asyncpg.Connection, book_id: int) -> None:
    """Cancel the book's job by deleting its row. If a process is still working on it, the result will be ignored."""
    await connection.execute(CANCEL, book_id)
