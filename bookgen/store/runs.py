"""Runs: accepting, steering, checkpointing and handing over the writing of a book."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import orjson
from asyncpg import Record

from bookgen.models import Run, RunMode, RunStatus
from bookgen.store.database import DB

LOCK_SLOT = "SELECT 1 FROM account_slot WHERE account_id = $1 FOR UPDATE"

MAKE_SLOT = "INSERT INTO account_slot (account_id) VALUES ($1) ON CONFLICT DO NOTHING"


async def lock_slot(connection: asyncpg.Connection, account_id: int) -> None:
    """Puts everything that moves this account's runs or holds in one order, until the transaction ends."""
    while await connection.fetchval(LOCK_SLOT, account_id) is None:
        await connection.execute(MAKE_SLOT, account_id)


@dataclass(frozen=True, slots=True)
class BookState:
    """What a command on a book is decided on, read under its locks.

    `written` chapters have content, `todo` have none or wait to be replaced by `run`. `wrote` says that a
    run wrote chapters since the book was last completed. `slot_free`: no other run of the account is
    running, waiting or finishing a call. `owner_alive`: the process that owns the run still renews its lease.
    """

    account_id: int
    target_word_count: int
    run: Run | None
    chapters: int
    written: int
    todo: int
    wrote: bool
    slot_free: bool
    owner_alive: bool
    job: str | None


LOCK_RUN = "SELECT * FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1 FOR UPDATE"

BOOK_STATE = """
    SELECT b.account_id, b.target_word_count,
           (SELECT count(*) FROM chapter c WHERE c.book_id = b.id) AS chapters,
           (SELECT count(*) FROM chapter c WHERE c.book_id = b.id AND c.content <> '') AS written,
           (SELECT count(*) FROM chapter c
             WHERE c.book_id = b.id AND (c.content = '' OR c.rewrite_run = $3)) AS todo,
           EXISTS (SELECT FROM run r
                    WHERE r.book_id = b.id AND r.written > 0
                      AND r.queue_seq > coalesce((SELECT max(d.queue_seq) FROM run d
                                                   WHERE d.book_id = b.id AND d.status = 'completed'), 0)) AS wrote,
           NOT EXISTS (SELECT FROM run r
                        WHERE r.account_id = b.account_id AND r.book_id <> b.id
                          AND (r.status IN ('running', 'queued')
                               OR r.status = 'paused' AND r.call_started_at IS NOT NULL
                                  AND r.updated_at > now() - $4 * interval '1 second')
                      ) AS slot_free,
           EXISTS (SELECT FROM process p WHERE p.boot_id = $5 AND p.lease_until > now()) AS owner_alive,
           (SELECT j.kind FROM book_job j JOIN process p ON p.boot_id = j.owner AND p.lease_until > now()
             WHERE j.book_id = b.id) AS job
      FROM book b
     WHERE b.id = $1 AND b.account_id = $2
"""


async def lock_book(
    connection: asyncpg.Connection, account_id: int, book_id: int, call_seconds: float
) -> BookState | None:
    """The state of the account's book, its slot and newest run locked; None when the book is not the account's."""
    await lock_slot(connection, account_id)
    run = _run(await connection.fetchrow(LOCK_RUN, book_id))
    row = await connection.fetchrow(
        BOOK_STATE, book_id, account_id, run and run.id, float(call_seconds), run and run.owner
    )
    return row and BookState(run=run, **row)


NEWEST = "SELECT * FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1"


async def newest(db: DB, book_id: int) -> Run | None:
    return _run(await db.fetchrow(NEWEST, book_id))


BY_ID = "SELECT * FROM run WHERE id = $1"


async def find(db: DB, run_id: UUID) -> Run | None:
    return _run(await db.fetchrow(BY_ID, run_id))


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
    return _some_run(row)


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
    return _some_run(row)


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


# The chapter that comes next is found in the same statement that announces it, so a row costs one round trip.
BEGIN_CHAPTER = """
    WITH next AS (
        SELECT c.id, c.chapter_number
          FROM chapter c JOIN run r ON r.book_id = c.book_id
         WHERE r.id = $1 AND (c.content = '' OR c.rewrite_run = r.id)
         ORDER BY c.chapter_number
         LIMIT 1
    ), begun AS (
        UPDATE run r
           SET call_no = r.call_no + 1, call_started_at = now(), updated_at = now(),
               current_chapter = next.chapter_number,
               total = (SELECT count(*) FROM chapter c WHERE c.book_id = r.book_id),
               done = (SELECT count(*) FROM chapter c
                        WHERE c.book_id = r.book_id AND c.content <> '' AND c.rewrite_run IS DISTINCT FROM r.id)
          FROM next
         WHERE r.id = $1 AND r.epoch = $2 AND r.status = 'running'
        RETURNING r.*
    ), marked AS (
        UPDATE chapter SET status = 'writing' FROM next WHERE chapter.id = next.id AND EXISTS (SELECT FROM begun)
    )
    SELECT * FROM begun
"""


async def begin_chapter(db: DB, run_id: UUID, epoch: int) -> Run | None:
    """Announces the next unwritten chapter. None: nothing left, or the run is not ours to write."""
    return _run(await db.fetchrow(BEGIN_CHAPTER, run_id, epoch))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A finished chapter on its way into the database, with everything that fences it.

    `seen` is the chapter's content version when its writing began. `digest` is None or the JSON of a Digest.
    """

    run_id: UUID
    epoch: int
    call_no: int
    op: UUID
    chapter_id: int
    seen: int
    content: str
    word_count: int
    quality: list[dict[str, Any]]
    digest: dict[str, Any] | None


# One statement: the fence, the text, the former text, the loser of a race with the editor, the digest.
# An edit committed while the chapter was being written has moved `content_version`: then the chapter keeps
# the user's text and the model's goes to the revisions.
CHECKPOINT = """
    WITH draft AS (
        SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::int[], $4::uuid[], $5::bigint[], $6::bigint[],
                             $7::text[], $8::int[], $9::text[], $10::text[])
            AS d (run_id, epoch, call_no, op, chapter_id, seen, content, word_count, quality, digest)
    ), fenced AS (
        UPDATE run r
           SET done = r.done + 1, written = r.written + 1, call_no = r.call_no + 1, crash_count = 0,
               words_written = r.words_written + d.word_count,
               writing_seconds = r.writing_seconds + coalesce(extract(epoch FROM now() - r.call_started_at), 0),
               call_started_at = NULL, last_op = d.op, updated_at = now()
          FROM draft d
         WHERE r.id = d.run_id AND r.epoch = d.epoch AND r.call_no = d.call_no
           AND r.status IN ('queued', 'running', 'paused')
        RETURNING r.*
    ), saved AS (
        UPDATE chapter c
           SET content = d.content, word_count = d.word_count, quality = d.quality::jsonb, status = 'completed',
               rewrite_run = NULL, content_version = c.content_version + 1, updated_at = now()
          FROM draft d JOIN fenced f ON f.id = d.run_id
         WHERE c.id = d.chapter_id AND c.content_version = d.seen
        RETURNING c.id
    ), yielded AS (
        UPDATE chapter c
           SET status = CASE WHEN c.content = '' THEN 'pending' ELSE 'completed' END, rewrite_run = NULL
          FROM draft d JOIN fenced f ON f.id = d.run_id
         WHERE c.id = d.chapter_id AND c.content_version <> d.seen
    ), former AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count)
        SELECT c.id, 'model', c.content, c.word_count
          FROM chapter c JOIN saved USING (id)
         WHERE c.content <> ''
    ), lost AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count)
        SELECT c.id, 'model', d.content, d.word_count
          FROM draft d JOIN fenced f ON f.id = d.run_id JOIN chapter c ON c.id = d.chapter_id
         WHERE NOT EXISTS (SELECT FROM saved s WHERE s.id = c.id)
    ), digested AS (
        INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
        SELECT s.id, j ->> 'content_hash', j ->> 'summary', j -> 'facts', j -> 'threads_opened', j -> 'threads_closed'
          FROM draft d JOIN saved s ON s.id = d.chapter_id, LATERAL (SELECT d.digest::jsonb AS j) AS json
         WHERE d.digest IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    SELECT * FROM fenced
"""


async def checkpoint(db: DB, rows: Sequence[Checkpoint]) -> dict[UUID, Run]:
    """Commits finished chapters of different runs. A run that is absent from the answer was fenced off."""
    found = await db.fetch(
        CHECKPOINT,
        [row.run_id for row in rows], [row.epoch for row in rows], [row.call_no for row in rows],
        [row.op for row in rows], [row.chapter_id for row in rows], [row.seen for row in rows],
        [row.content for row in rows], [row.word_count for row in rows],
        [orjson.dumps(row.quality).decode() for row in rows],
        [orjson.dumps(row.digest).decode() if row.digest else None for row in rows],
    )  # fmt: skip
    return {row["id"]: _some_run(row) for row in found}


PROMOTE = """
    UPDATE run SET status = 'running', epoch = epoch + 1, owner = $2, call_started_at = NULL, updated_at = now()
     WHERE id = (SELECT id FROM run WHERE account_id = $1 AND status = 'queued' ORDER BY queue_seq LIMIT 1)
       AND NOT EXISTS (SELECT FROM run
                        WHERE account_id = $1
                          AND (status = 'running'
                               OR status IN ('paused', 'queued') AND call_started_at IS NOT NULL
                                  AND updated_at > now() - $3 * interval '1 second'))
    RETURNING *
"""


async def promote(connection: asyncpg.Connection, account_id: int, owner: UUID, call_seconds: float) -> Run | None:
    """Gives the account's free turn to the head of its queue. The account's slot must be locked."""
    return _run(await connection.fetchrow(PROMOTE, account_id, owner, float(call_seconds)))


WAITING_ACCOUNTS = """
    SELECT DISTINCT q.account_id
      FROM run q
     WHERE q.status = 'queued'
       AND NOT EXISTS (SELECT FROM run r
                        WHERE r.account_id = q.account_id
                          AND (r.status = 'running'
                               OR r.status IN ('paused', 'queued') AND r.call_started_at IS NOT NULL
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


STILL_OURS = "SELECT id FROM run WHERE id = ANY($1::uuid[]) AND owner = $2 AND status = 'running'"


async def still_running(db: DB, run_ids: Sequence[UUID], owner: UUID) -> set[UUID]:
    """Which of these runs still are running and the process's own."""
    return {row["id"] for row in await db.fetch(STILL_OURS, list(run_ids), owner)}


OWNED = "SELECT * FROM run WHERE owner = $1 AND status = 'running' ORDER BY queue_seq"


async def owned(db: DB, owner: UUID) -> list[Run]:
    return [_some_run(row) for row in await db.fetch(OWNED, owner)]


# A crash is charged to the run that its process was trying out, if it was; else to all of its runs that it had begun
# to write. A suspect is charged only for a crash in the middle of its trial, so that it is never condemned by accident.
CLAIM = """
    WITH orphan AS (
        SELECT r.id,
               CASE WHEN r.owner IS NULL THEN false
                    WHEN r.crash_count >= $3 THEN p.probation IS NOT DISTINCT FROM r.id
                    ELSE p.probation IS NULL AND r.call_started_at IS NOT NULL END AS charged
          FROM run r LEFT JOIN process p ON p.boot_id = r.owner
         WHERE r.status = 'running' AND r.owner IS DISTINCT FROM $1
           AND (p.boot_id IS NULL OR p.lease_until <= now())
         ORDER BY r.queue_seq
         LIMIT $2
           FOR UPDATE OF r SKIP LOCKED
    )
    UPDATE run r
       SET epoch = r.epoch + 1, owner = $1, crash_count = r.crash_count + orphan.charged::int,
           call_started_at = NULL
      FROM orphan
     WHERE r.id = orphan.id
    RETURNING r.*
"""


async def claim(db: DB, owner: UUID, limit: int, suspect_from: int) -> list[Run]:
    """Takes over running runs whose owner is gone. `suspect_from` crashes make a run a suspect.

    What `owner` itself has stays as it is, however late its own lease is renewed: nobody else took it.
    """
    rows = await db.fetch(CLAIM, owner, limit, suspect_from)
    return sorted((_some_run(row) for row in rows), key=lambda run: run.queue_seq)


# A paused or waiting run whose last call died with its process keeps nobody from the account's turn.
FORGET_CALLS = """
    UPDATE run r SET call_started_at = NULL, epoch = r.epoch + 1, owner = NULL, updated_at = now()
     WHERE r.status IN ('queued', 'paused') AND r.call_started_at IS NOT NULL AND r.owner IS DISTINCT FROM $1
       AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
"""


async def forget_calls(db: DB, owner: UUID) -> None:
    """Clears calls in flight of processes that are gone, where no run has to be taken over for them."""
    await db.execute(FORGET_CALLS, owner)


RELEASE = (
    "UPDATE run SET owner = NULL, call_started_at = NULL WHERE owner = $1 AND status IN ('queued', 'running', 'paused')"
)


async def release(db: DB, owner: UUID) -> None:
    """A clean stop: the runs stay as they are, for the next process to claim without a charge."""
    await db.execute(RELEASE, owner)


ACTIVE_OF_ACCOUNT = """
    SELECT book_id FROM run WHERE account_id = $1 AND status IN ('queued', 'running', 'paused') ORDER BY queue_seq
"""


async def active_books(db: DB, account_id: int) -> list[int]:
    return [row["book_id"] for row in await db.fetch(ACTIVE_OF_ACCOUNT, account_id)]


COUNTS = "SELECT status, count(*) FROM run GROUP BY status"


async def counts(db: DB) -> dict[str, int]:
    return {row["status"]: row["count"] for row in await db.fetch(COUNTS)}


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
    return row and RunReport(_some_run(row), row["place"], row["outline"])


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
    return {row["book_id"]: RunReport(_some_run(row), row["place"], row["outline"]) for row in rows}


RUN_FIELDS = tuple(Run.__dataclass_fields__)


def _some_run(row: Record) -> Run:
    fields = {name: row[name] for name in RUN_FIELDS}
    return Run(**fields | {"status": RunStatus(row["status"]), "mode": RunMode(row["mode"])})


def _run(row: Record | None) -> Run | None:
    return _some_run(row) if row is not None else None
