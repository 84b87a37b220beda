"""The state of a book, read under locks, from which the outcome of a command is decided."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

import asyncpg

from bookgen.models import SAMPLE_WRITER, BookKind, Run
from bookgen.store import slots
from bookgen.store.rows import mapper
from bookgen.store.runs import run_of
from bookgen.store.slots import holds_slot


@dataclass(frozen=True, slots=True)
class BookState:
    """A book, its newest run and the state of its account's slot, as `lock` reads them.

    A run is the writing of a book. Each account has one slot: at most one of its runs is written at a time.
    `target_word_count`: the book's target, or the sum of its chapters' targets if that sum is larger.
    `run`: the newest run, finished or not; None if the book has never had one.
    `chapters`: how many chapters the book has. `written`: how many of them have content.
    `todo`: how many chapters have no content, or are marked to be written again by `run`.
    `wrote`: a run has written a chapter or made a charged model call since the book was last completed.
    `slot_free`: no run of another book of the account is running, queued or finishing a model call.
    `owner_alive`: the process that owns `run` is alive.
    `job`: the kind of model work outside a run, such as an outline, that a live process does on the book; or None.
    `job_row`: the database has a row for such work, perhaps left by a dead process.
    `writer`: the model of the last chapter in the book whose text a model wrote; None if no model wrote any. Sample
    text, which is written if no model is configured, does not count as a model's.
    """

    target_word_count: int
    kind: BookKind
    run: Run | None
    chapters: int
    written: int
    todo: int
    wrote: bool
    slot_free: bool
    owner_alive: bool
    job: str | None
    job_row: bool
    writer: str | None = None


_state = mapper(
    BookState,
    kind=lambda row: BookKind(row["book_kind"]),
    run=lambda row: run_of(row) if row["id"] is not None else None,
    written=itemgetter("chapters_written"),
    writer=itemgetter("chapters_writer"),
)

# One round trip. Each CTE reads the one before it, so the rows are locked in this order. No run can be added meanwhile,
# because the slot is locked.
LOCK = """
    WITH usage AS (
        SELECT s.account_id FROM subscription s WHERE s.account_id = $1 FOR UPDATE OF s
    ), locked_run AS (
        SELECT r.id FROM run r
         WHERE r.book_id = $2 AND r.account_id = $1 AND (SELECT count(*) FROM usage) >= 0
         ORDER BY r.queue_seq DESC
         LIMIT $3
           FOR UPDATE OF r
    )
    SELECT true FROM book b
     WHERE b.id = $2 AND b.account_id = $1 AND (SELECT count(*) FROM locked_run) >= 0
       FOR NO KEY UPDATE OF b
"""

BOOK_STATE = f"""
    SELECT greatest(b.target_word_count, k.budgets) AS target_word_count, b.kind AS book_kind, newest.*, k.chapters,
           k.written AS chapters_written, k.todo,
           (SELECT c.writer FROM chapter c
             WHERE c.book_id = b.id AND c.content <> '' AND c.writer NOT IN ('', '{SAMPLE_WRITER}')
             ORDER BY c.chapter_number DESC LIMIT 1) AS chapters_writer,
           EXISTS (SELECT FROM run r
                    WHERE r.book_id = b.id
                      AND (r.written > 0
                           OR EXISTS (SELECT FROM model_call c
                                       WHERE c.run_id = r.id AND c.cost_micros IS DISTINCT FROM 0))
                      AND r.queue_seq > coalesce((SELECT max(d.queue_seq) FROM run d
                                                   WHERE d.book_id = b.id AND d.status = 'completed'), 0)) AS wrote,
           NOT EXISTS (SELECT FROM run r
                        WHERE r.account_id = b.account_id AND r.book_id <> b.id
                          AND {holds_slot("'queued', 'running'", "$3")}) AS slot_free,
           EXISTS (SELECT FROM process p WHERE p.boot_id = newest.owner AND p.lease_until > now()) AS owner_alive,
           coalesce(
               (SELECT j.kind FROM book_job j JOIN process p ON p.boot_id = j.owner AND p.lease_until > now()
                 WHERE j.book_id = b.id),
               (SELECT 'proofreading report' FROM report JOIN process p ON p.boot_id = owner AND p.lease_until > now()
                 WHERE report.book_id = b.id AND report.status = 'running')) AS job,
           EXISTS (SELECT FROM book_job WHERE book_id = b.id) AS job_row
      FROM book b
      LEFT JOIN LATERAL (SELECT * FROM run WHERE book_id = b.id ORDER BY queue_seq DESC LIMIT 1) AS newest ON true
     CROSS JOIN LATERAL (
           SELECT count(*) AS chapters, count(*) FILTER (WHERE content <> '') AS written,
                  count(*) FILTER (WHERE content = '' OR rewrite_run = newest.id) AS todo,
                  sum(target_word_count) AS budgets
             FROM chapter WHERE book_id = b.id) AS k
     WHERE b.id = $1 AND b.account_id = $2
"""


async def lock(
    connection: asyncpg.Connection, account_id: int, book_id: int, call_seconds: float, *, every_run: bool = False
) -> BookState | None:
    """Lock the account's slot, its subscription, the book's newest run and the book, and return the book's state.

    Returns None if the account has no such book. `call_seconds`: for how long a paused run may take up the slot to
    finish its last model call. `every_run`: lock the book's older runs too. This is needed to delete the book, because
    its runs are deleted with it, while another transaction may be storing a late reply for one of them.
    """
    await slots.lock(connection, account_id)
    if not await connection.fetchval(LOCK, account_id, book_id, None if every_run else 1):
        return None
    row = await connection.fetchrow(BOOK_STATE, book_id, account_id, float(call_seconds))
    return row and _state(row)
