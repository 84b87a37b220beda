"""Runs: accepting, steering, checkpointing and handing over the writing of a book."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
from asyncpg import Record

from bookgen.models import Run, RunMode, RunStatus
from bookgen.store.database import DB

RUN_FIELDS = tuple(Run.__dataclass_fields__)


def run_of(row: Record) -> Run:
    """From a row that has the columns of `run`, whatever else it has."""
    fields = {name: row[name] for name in RUN_FIELDS}
    return Run(**fields | {"status": RunStatus(row["status"]), "mode": RunMode(row["mode"])})


LOCK_SLOT = "UPDATE account_slot SET version = version + 1 WHERE account_id = $1"


async def lock_slot(connection: asyncpg.Connection, account_id: int) -> None:
    """Puts everything that moves this account's runs or holds in one order, until the transaction ends.

    The new version tells `acceptance.accept` that what it read before is old.
    """
    await connection.execute(LOCK_SLOT, account_id)


@dataclass(frozen=True, slots=True)
class BookState:
    """What a command on a book is decided on.

    `target_word_count` is that of the book, or of its chapters together where they are given more.
    `written` chapters have content, `todo` have none or wait to be replaced by `run`. `wrote` says that a
    run wrote chapters since the book was last completed. `slot_free`: no other run of the account is
    running, waiting or finishing a call. `owner_alive`: the process that owns the run still renews its lease.
    """

    target_word_count: int
    run: Run | None
    chapters: int
    written: int
    todo: int
    wrote: bool
    slot_free: bool
    owner_alive: bool
    job: str | None


# Of a run `r` of the account in question; a paused run's call in flight is believed in for $3 seconds.
OCCUPIES_SLOT = """
    r.status IN ('queued', 'running', 'paused')
    AND (r.status <> 'paused' OR r.call_started_at IS NOT NULL AND r.updated_at > now() - $3 * interval '1 second')
"""

LOCK_RUN = "SELECT 1 FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1 FOR UPDATE"

BOOK_STATE = f"""
    SELECT greatest(b.target_word_count, k.budgets) AS target_word_count, newest.*, k.chapters,
           k.written AS chapters_written, k.todo,
           EXISTS (SELECT FROM run r
                    WHERE r.book_id = b.id AND r.written > 0
                      AND r.queue_seq > coalesce((SELECT max(d.queue_seq) FROM run d
                                                   WHERE d.book_id = b.id AND d.status = 'completed'), 0)) AS wrote,
           NOT EXISTS (SELECT FROM run r
                        WHERE r.account_id = b.account_id AND r.book_id <> b.id AND {OCCUPIES_SLOT}) AS slot_free,
           EXISTS (SELECT FROM process p WHERE p.boot_id = newest.owner AND p.lease_until > now()) AS owner_alive,
           (SELECT j.kind FROM book_job j JOIN process p ON p.boot_id = j.owner AND p.lease_until > now()
             WHERE j.book_id = b.id) AS job
      FROM book b
      LEFT JOIN LATERAL (SELECT * FROM run WHERE book_id = b.id ORDER BY queue_seq DESC LIMIT 1) AS newest ON true
     CROSS JOIN LATERAL (
           SELECT count(*) AS chapters, count(*) FILTER (WHERE content <> '') AS written,
                  count(*) FILTER (WHERE content = '' OR rewrite_run = newest.id) AS todo,
                  sum(target_word_count) AS budgets
             FROM chapter WHERE book_id = b.id) AS k
     WHERE b.id = $1 AND b.account_id = $2
"""


async def lock_book(
    connection: asyncpg.Connection, account_id: int, book_id: int, call_seconds: float
) -> BookState | None:
    """The state of the account's book, its slot and newest run locked; None when the book is not the account's."""
    await lock_slot(connection, account_id)
    await connection.execute(LOCK_RUN, book_id)
    row = await connection.fetchrow(BOOK_STATE, book_id, account_id, float(call_seconds))
    return row and BookState(
        target_word_count=row["target_word_count"],
        run=run_of(row) if row["id"] is not None else None,
        chapters=row["chapters"],
        written=row["chapters_written"],
        todo=row["todo"],
        wrote=row["wrote"],
        slot_free=row["slot_free"],
        owner_alive=row["owner_alive"],
        job=row["job"],
    )


NEWEST = "SELECT * FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1"


async def newest(db: DB, book_id: int) -> Run | None:
    row = await db.fetchrow(NEWEST, book_id)
    return row and run_of(row)


BY_ID = "SELECT * FROM run WHERE id = $1"


async def find(db: DB, run_id: UUID) -> Run | None:
    row = await db.fetchrow(BY_ID, run_id)
    return row and run_of(row)


INSERT = """
    INSERT INTO run (id, book_id, account_id, status, mode, total, done, call_no, epoch, owner, last_op)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    RETURNING *
"""

MARK_FOR_REWRITE = "UPDATE chapter SET rewrite_run = $2 WHERE book_id = $1"


async def insert(connection: asyncpg.Connection, run: Run, *, rewrite: bool) -> Run:
    """Stores an accepted run. With `rewrite` every chapter is written again, whatever it holds."""
    row = await connection.fetchrow(
        INSERT, run.id, run.book_id, run.account_id, run.status, run.mode, run.total, run.done,
        run.call_no, run.epoch, run.owner, run.last_op,
    )  # fmt: skip
    if rewrite:
        await connection.execute(MARK_FOR_REWRITE, run.book_id, run.id)
    return run_of(row)


SAVE = """
    UPDATE run
       SET status = $2, mode = $3, total = $4, done = $5, call_no = $6, epoch = $7, owner = $8, crash_count = $9,
           failure = $10, last_op = $11,
           call_started_at = CASE WHEN $12 THEN call_started_at END,
           queue_seq = CASE WHEN $13 THEN nextval('run_queue') ELSE queue_seq END,
           finished_at = CASE WHEN $2 IN ('stopped', 'completed', 'error') THEN coalesce(finished_at, now()) END,
           updated_at = now()
     WHERE id = $1
    RETURNING *
"""


async def save(connection: asyncpg.Connection, run: Run, *, to_tail: bool = False) -> Run:
    """Writes what a decision made of a run whose row the transaction holds locked."""
    row = await connection.fetchrow(
        SAVE, run.id, run.status, run.mode, run.total, run.done, run.call_no, run.epoch, run.owner, run.crash_count,
        run.failure, run.last_op, run.call_started_at is not None, to_tail,
    )  # fmt: skip
    return run_of(row)


SET_BOOK_STATUS = """
    UPDATE book SET status = $2, funding_source = coalesce($3, funding_source), updated_at = now() WHERE id = $1
"""

SETTLE_CHAPTERS = """
    UPDATE chapter
       SET status = CASE WHEN content <> '' THEN 'completed'
                         WHEN chapter_number = $2 THEN 'error'
                         ELSE 'pending' END
     WHERE book_id = $1 AND status IN ('writing', 'error')
"""

FORGET_STEPS = "DELETE FROM step WHERE run_id = $1 AND ($2::int IS NULL OR chapter_number = $2)"


async def set_book_status(
    connection: asyncpg.Connection, book_id: int, status: str, funding_source: str | None = None
) -> None:
    await connection.execute(SET_BOOK_STATUS, book_id, status, funding_source)


async def settle_chapters(connection: asyncpg.Connection, book_id: int, failed: int | None = None) -> None:
    """No chapter is being written any more; `failed` names the one that could not be."""
    await connection.execute(SETTLE_CHAPTERS, book_id, failed)


async def forget_steps(connection: asyncpg.Connection, run_id: UUID, chapter_number: int | None = None) -> None:
    await connection.execute(FORGET_STEPS, run_id, chapter_number)


PROMOTE = """
    UPDATE run SET status = 'running', epoch = epoch + 1, owner = $2, call_started_at = NULL, updated_at = now()
     WHERE id = (SELECT id FROM run WHERE account_id = $1 AND status = 'queued' ORDER BY queue_seq LIMIT 1)
       AND NOT EXISTS (SELECT FROM run
                        WHERE account_id = $1 AND status IN ('queued', 'running', 'paused')
                          AND (status = 'running' OR call_started_at IS NOT NULL
                                                     AND updated_at > now() - $3 * interval '1 second'))
    RETURNING *
"""


async def promote(connection: asyncpg.Connection, account_id: int, owner: UUID, call_seconds: float) -> Run | None:
    """Gives the account's free turn to the head of its queue. The account's slot must be locked."""
    row = await connection.fetchrow(PROMOTE, account_id, owner, float(call_seconds))
    return row and run_of(row)


WAITING_ACCOUNTS = """
    SELECT DISTINCT q.account_id
      FROM run q
     WHERE q.status = 'queued'
       AND NOT EXISTS (SELECT FROM run r
                        WHERE r.account_id = q.account_id AND r.status IN ('queued', 'running', 'paused')
                          AND (r.status = 'running' OR r.call_started_at IS NOT NULL
                                                       AND r.updated_at > now() - $1 * interval '1 second'))
     LIMIT 100
"""


async def waiting_accounts(db: DB, call_seconds: float) -> list[int]:
    """Accounts whose turn is free although a run waits for it."""
    return [row["account_id"] for row in await db.fetch(WAITING_ACCOUNTS, float(call_seconds))]


HINT_CHANNEL = "bookgen_run"

HINT = "SELECT pg_notify($1, $2)"


async def hint(connection: asyncpg.Connection, book_id: int) -> None:
    """Tells the other processes, once this transaction is committed, that the book's run has changed."""
    await connection.execute(HINT, HINT_CHANNEL, str(book_id))


ACTIVE_OF_ACCOUNT = """
    SELECT book_id FROM run WHERE account_id = $1 AND status IN ('queued', 'running', 'paused') ORDER BY queue_seq
"""


async def active_books(db: DB, account_id: int) -> list[int]:
    return [row["book_id"] for row in await db.fetch(ACTIVE_OF_ACCOUNT, account_id)]


STATUS = """
    SELECT r.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           (SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'id', c.id, 'chapter_number', c.chapter_number, 'title', c.title,
                       'has_content', c.content <> '', 'word_count', c.word_count) ORDER BY c.chapter_number), '[]')
              FROM chapter c WHERE c.book_id = r.book_id) AS outline
      FROM run r
     WHERE r.book_id = $1 AND r.account_id = $2
     ORDER BY r.queue_seq DESC
     LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run as its owner sees it: with its place in the queue and the outline."""

    run: Run
    place: int
    outline: list[dict[str, Any]]


async def report(db: DB, account_id: int, book_id: int) -> RunReport | None:
    row = await db.fetchrow(STATUS, book_id, account_id)
    return row and RunReport(run_of(row), row["place"], row["outline"])


REPORTS = """
    SELECT r.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           (SELECT coalesce(jsonb_agg(jsonb_build_object('chapter_number', c.chapter_number, 'title', c.title)), '[]')
              FROM chapter c WHERE c.book_id = r.book_id AND c.chapter_number = r.current_chapter) AS outline
      FROM book b
     CROSS JOIN LATERAL (SELECT * FROM run WHERE run.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r
     WHERE b.account_id = $1
"""


async def reports(db: DB, account_id: int) -> dict[int, RunReport]:
    """The newest run of each of the account's books; of the outline only the chapter being written."""
    rows = await db.fetch(REPORTS, account_id)
    return {row["book_id"]: RunReport(run_of(row), row["place"], row["outline"]) for row in rows}
