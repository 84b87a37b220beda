"""Blurb drafts: a queue of books that need a blurb, the text for the back cover. One process at a time drafts each."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

import asyncpg

from bookgen.store.database import DB
from bookgen.store.rows import mapper

ENQUEUE = """
    INSERT INTO blurb_draft AS d (book_id, task) SELECT id, $2 FROM book WHERE id = $1 AND blurb = ''
    ON CONFLICT (book_id) DO UPDATE
       SET task = excluded.task, owner = NULL, tries = 0, due_at = excluded.due_at
"""


async def enqueue(connection: asyncpg.Connection, book_id: int) -> None:
    """Queue a blurb draft for the book, unless the book has a blurb.

    A draft that is already queued or in progress starts again.
    """
    await connection.execute(ENQUEUE, book_id, uuid4())


@dataclass(frozen=True, slots=True)
class ClaimedBlurb:
    """A blurb draft that this process has claimed. `tries` includes this attempt."""

    book_id: int
    account_id: int
    task: UUID
    tries: int


_claimed = mapper(ClaimedBlurb)

# $3: this process has no model and can only write sample text, which must not go on a book that a model has written.
CLAIM = """
    WITH next AS (
        SELECT c.book_id, b.account_id
          FROM blurb_draft c JOIN book b ON b.id = c.book_id JOIN account a ON a.id = b.account_id
         WHERE c.due_at <= now() AND c.book_id <> ALL($2::bigint[])
           AND b.status = 'completed' AND a.blocked_at IS NULL
           AND (c.owner = $1
                OR NOT EXISTS (SELECT FROM process p WHERE p.boot_id = c.owner AND p.lease_until > now()))
           AND NOT ($3 AND EXISTS (SELECT FROM model_call m
                                    WHERE m.book_id = c.book_id AND m.stage = 'chapter' AND m.model <> 'offline'))
         ORDER BY c.due_at LIMIT 1 FOR UPDATE OF c SKIP LOCKED)
    UPDATE blurb_draft AS d
       SET owner = $1, tries = d.tries + 1
      FROM next
     WHERE d.book_id = next.book_id
    RETURNING d.book_id, next.account_id, d.task, d.tries
"""


async def claim(db: DB, owner: UUID, in_flight: list[int], *, sample: bool) -> ClaimedBlurb | None:
    """Claim the next blurb draft that is due and that no live process works on. None if there is none.

    `owner`: this process. `in_flight`: the ids of the books whose blurbs this process is drafting now. A draft that
    `owner` has claimed but is not drafting can be claimed again, because the connection may have failed just after the
    first claim. `sample`: this process has no model and can only write sample text. Books with chapters written by a
    model are then skipped.
    """
    row = await db.fetchrow(CLAIM, owner, in_flight, sample)
    return row and _claimed(row)


OWNED = "book_id = $1 AND task = $2 AND owner = $3"

# Locks the book first, in the same order as the transaction that completes a run. An author's own blurb stays.
FINISH = f"""
    WITH locked AS (SELECT id FROM book WHERE id = $1 FOR NO KEY UPDATE),
         finished AS (DELETE FROM blurb_draft WHERE {OWNED} AND EXISTS (SELECT FROM locked) RETURNING book_id)
    UPDATE book SET blurb = $4, updated_at = now()
     WHERE id IN (SELECT book_id FROM finished) AND blurb = '' AND status = 'completed' AND $4 <> ''
"""


async def finish(db: DB, claimed: ClaimedBlurb, owner: UUID, blurb: str = "") -> None:
    """Delete the draft if `owner` still has it, and set the book's blurb unless the author has written a blurb."""
    await db.execute(FINISH, claimed.book_id, claimed.task, owner, blurb)


POSTPONE = f"""
    UPDATE blurb_draft SET owner = NULL, task = $5, due_at = now() + $4 * interval '1 second'
     WHERE {OWNED}
"""


async def postpone(db: DB, claimed: ClaimedBlurb, owner: UUID, seconds: float) -> None:
    """Make the draft due again after `seconds`, for any process. The next attempt makes a new model call."""
    await db.execute(POSTPONE, claimed.book_id, claimed.task, owner, seconds, uuid4())


FORGET_STEPS = "DELETE FROM step WHERE run_id = $1 AND NOT EXISTS (SELECT FROM blurb_draft WHERE task = $1)"


async def forget_steps(db: DB, claimed: ClaimedBlurb) -> None:
    """Delete the model's reply that was stored for the draft. Does nothing while the draft is still in the queue."""
    await db.execute(FORGET_STEPS, claimed.task)


FILL_IN = "UPDATE book SET blurb = $2, updated_at = now() WHERE id = $1 AND blurb = ''"


async def fill_in(connection: asyncpg.Connection, book_id: int, blurb: str) -> None:
    """Set the book's blurb if it has none."""
    await connection.execute(FILL_IN, book_id, blurb)


RELEASE = "UPDATE blurb_draft SET owner = NULL, tries = tries - 1 WHERE owner = $1"


async def release(db: DB, owner: UUID) -> None:
    """Release the drafts that this process has not finished. Their current attempts are not counted in `tries`."""
    await db.execute(RELEASE, owner)
