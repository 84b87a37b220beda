"""Runs: every statement that writes the table `run`.

What a run's state may become, and by what:

    from        to                                          by
    (none)      queued, running                             insert: generate was accepted
    queued      running                                     promote: the account's slot is free
    queued      paused, stopped, error                      save
    running     paused, stopped, completed, error           save
    paused      queued, running, stopped, completed, error  save
    error       queued, running, stopped                    save
    stopped     nothing                                     a new run is inserted
    completed   nothing                                     a new run is inserted

`save` writes what `actors.decide` has decided, under the locks of `book_state.lock`, and only along `TRANSITIONS`.
The other statements leave the state as it is. Each may write a run while it is

    statement     in the state                    fenced by                       it writes
    begin         running                         epoch                           the call number, the announced chapter
    begin_phase   running                         epoch and phase                 the call number, no chapter
    checkpoint    queued, running, paused         epoch and call number           progress, the chapter announced next
    claim         running                         the owner's lease has run out   epoch, owner, crash count
    forget_calls  queued, paused                  the owner's lease has run out   epoch, owner, no call in flight
    set_aside     running                         the owner's lease has run out   epoch, no owner, no call in flight
    hand_over     running                         epoch, owner                    epoch, no owner, no call in flight
    release       queued, running, paused         owner                           no owner, no call in flight
    PROGRESS      queued, running, paused, error  the reply is new                crash count, words of the draft
    forget_draft  any                             the locks of `book_state.lock`  no words of a draft
    recount       paused                          the locks of `book_state.lock`  the number of chapters
    count_words   any                             the locks of `book_state.lock`  the words that its usage counts
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import asyncpg

from bookgen.models import Run, RunStatus
from bookgen.store.database import DB
from bookgen.store.model_calls import LEDGER, ONCE, Step, values_of
from bookgen.store.revisions import keep_original, with_revision
from bookgen.store.rows import columns, field_names, mapper
from bookgen.store.slots import holds_slot
from bookgen.store.writers import may_write

run_of = mapper(Run)

# What `save` lets through besides writing a run in the state that it has.
TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = MappingProxyType(
    {
        RunStatus.QUEUED: frozenset({RunStatus.PAUSED, RunStatus.STOPPED, RunStatus.ERROR}),
        RunStatus.RUNNING: frozenset({RunStatus.PAUSED, RunStatus.STOPPED, RunStatus.COMPLETED, RunStatus.ERROR}),
        RunStatus.PAUSED: frozenset(RunStatus) - {RunStatus.PAUSED},
        RunStatus.STOPPED: frozenset(),
        RunStatus.COMPLETED: frozenset(),
        RunStatus.ERROR: frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.STOPPED}),
    }
)


NEWEST = "SELECT * FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1"


async def newest(db: DB, book_id: int) -> Run | None:
    row = await db.fetchrow(NEWEST, book_id)
    return row and run_of(row)


# Steered: what `actors.decide` decides

INSERT = """
    INSERT INTO run (id, book_id, account_id, status, mode, total, done, call_no, epoch, owner, last_op, phase, writer)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    RETURNING *
"""


async def insert(connection: asyncpg.Connection, run: Run) -> Run:
    """Stores an accepted run."""
    row = await connection.fetchrow(
        INSERT, run.id, run.book_id, run.account_id, run.status, run.mode, run.total, run.done,
        run.call_no, run.epoch, run.owner, run.last_op, run.phase, run.writer,
    )  # fmt: skip
    return run_of(row)


SAVE = """
    UPDATE run
       SET status = $2, mode = $3, total = $4, done = $5, call_no = $6, epoch = $7, owner = $8, crash_count = $9,
           failure = $10, last_op = $11, phase = $15, remark = $16,
           call_started_at = CASE WHEN $12 THEN call_started_at END,
           queue_seq = CASE WHEN $13 THEN nextval('run_queue') ELSE queue_seq END,
           finished_at = CASE WHEN $2 IN ('stopped', 'completed', 'error') THEN coalesce(finished_at, now()) END,
           updated_at = now()
     WHERE id = $1 AND status = ANY($14::text[])
    RETURNING *
"""


async def save(connection: asyncpg.Connection, run: Run, *, to_tail: bool = False) -> Run:
    """Writes what a decision made of a run whose row the transaction holds locked.

    RuntimeError where `TRANSITIONS` knows no way from the stored state to that of `run`.
    """
    sources = [run.status, *(status for status, targets in TRANSITIONS.items() if run.status in targets)]
    row = await connection.fetchrow(
        SAVE, run.id, run.status, run.mode, run.total, run.done, run.call_no, run.epoch, run.owner, run.crash_count,
        run.failure, run.last_op, run.call_started_at is not None, to_tail, sources, run.phase, run.remark,
    )  # fmt: skip
    if row is None:
        raise RuntimeError(f"run {run.id} can't become {run.status} from the state that it is in")
    return run_of(row)


PROMOTE = f"""
    UPDATE run SET status = 'running', epoch = epoch + 1, owner = $2, call_started_at = NULL, updated_at = now()
     WHERE id = (SELECT id FROM run WHERE account_id = $1 AND status = 'queued' ORDER BY queue_seq LIMIT 1)
       AND NOT EXISTS (SELECT FROM run r WHERE r.account_id = $1 AND {holds_slot("'running'", "$3")})
    RETURNING *
"""


async def promote(connection: asyncpg.Connection, account_id: int, owner: UUID, call_seconds: float) -> Run | None:
    """Starts the run at the head of the account's queue if the account's slot is free. The slot must be locked."""
    row = await connection.fetchrow(PROMOTE, account_id, owner, float(call_seconds))
    return row and run_of(row)


RECOUNT = "UPDATE run SET total = $2 WHERE book_id = $1 AND status = 'paused'"


async def recount(connection: asyncpg.Connection, book_id: int, chapters: int) -> None:
    """Tells the book's paused run of how many chapters the outline has now."""
    await connection.execute(RECOUNT, book_id, chapters)


FORGET_DRAFT = "UPDATE run SET draft_words = 0 WHERE id = $1"


async def forget_draft(connection: asyncpg.Connection, run_id: UUID) -> None:
    """Counts no words of the unfinished chapter: its stored parts are deleted."""
    await connection.execute(FORGET_DRAFT, run_id)


# Written: a chapter is announced before it is written and committed when it is


@dataclass(frozen=True, slots=True)
class Begin:
    """The wish to write the next chapter of a run that is held under `epoch`."""

    run_id: UUID
    epoch: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A run whose next chapter is announced. `replay`: model calls of the run are stored."""

    run: Run
    replay: bool


OF_RUN = columns(field_names(Run))

# The chapter that comes next is found in the same statement that announces it. Nothing is joined, and the status is a
# parameter, so that no plan reads a table or an index from end to end: a planner whose statistics are from before a
# restore of thousands would think nothing of it.
BEGIN = f"""
    WITH begun AS (
        UPDATE run r
           SET call_no = r.call_no + 1, call_started_at = now(), updated_at = now(), writer = coalesce($4, r.writer),
               (total, done, current_chapter, draft_words) = (
                   SELECT n.total, n.done, n.next, CASE WHEN n.next = r.current_chapter THEN r.draft_words ELSE 0 END
                     FROM (
                         SELECT count(*) AS total,
                                count(*) FILTER (WHERE c.content <> '' AND c.rewrite_run IS DISTINCT FROM r.id) AS done,
                                min(c.chapter_number) FILTER (WHERE c.content = '' OR c.rewrite_run = r.id) AS next
                           FROM chapter c WHERE c.book_id = r.book_id) AS n)
         WHERE r.id = ANY($1::uuid[]) AND r.status = $3 AND r.epoch = ($2::bigint[])[array_position($1, r.id)]
           AND (SELECT count(*) FROM chapter c
                 WHERE c.book_id = r.book_id AND (c.content = '' OR c.rewrite_run = r.id)) > 0
        RETURNING r.*
    ), marked AS (
        UPDATE chapter SET status = 'writing'
         WHERE id = ANY(ARRAY(SELECT (SELECT c.id FROM chapter c
                                       WHERE c.book_id = begun.book_id AND c.chapter_number = begun.current_chapter)
                                FROM begun))
    )
    SELECT {OF_RUN}, EXISTS (SELECT FROM step s WHERE s.run_id = begun.id) AS replay FROM begun
"""


async def begin(db: DB, asked: Sequence[Begin], writer: str | None = None) -> dict[UUID, Begun]:
    """Announces the next unwritten chapter of each run, and records that the model `writer` writes it.

    A run that is absent from the answer has nothing left or is not ours to write.
    """
    ids, epochs = [each.run_id for each in asked], [each.epoch for each in asked]
    rows = await db.fetch(BEGIN, ids, epochs, RunStatus.RUNNING, writer)
    return {row["id"]: Begun(run_of(row), row["replay"]) for row in rows}


BEGIN_PHASE = """
    UPDATE run SET call_no = call_no + 1, call_started_at = now(), current_chapter = NULL, updated_at = now(),
                   writer = coalesce($5, writer)
     WHERE id = $1 AND epoch = $2 AND phase = $3 AND status = $4
    RETURNING *
"""


async def begin_phase(db: DB, run: Run, writer: str | None = None) -> Run | None:
    """Announces the work of a phase that writes no chapter, and records that the model `writer` does it.

    None: the run is not ours, or in another phase by now.
    """
    row = await db.fetchrow(BEGIN_PHASE, run.id, run.epoch, run.phase, RunStatus.RUNNING, writer)
    return row and run_of(row)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A finished chapter on its way into the database, with everything that fences it.

    `seen` is the chapter's content version when its writing began. `digest` is None or the JSON of a Digest. `step` is
    the model call that came last, if it is not stored yet. `original` is the model's own text, if the quality gate
    changed it. `writer` is the model that wrote the content.
    """

    run_id: UUID
    epoch: int
    call_no: int
    chapter_id: int
    seen: int
    content: str
    word_count: int
    quality: list[dict[str, Any]]
    digest: dict[str, Any] | None
    step: Step | None = None
    original: str | None = None
    original_words: int = 0
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A run whose chapter is committed. With a `call_started_at` its next chapter is announced.

    `book_updated_at` is when its book was last changed by anything but a checkpoint; None when an edit of this chapter
    was faster.
    """

    run: Run
    book_updated_at: datetime | None


# One statement: the fence, the text, the former text, the model's own text if the quality gate changed it, the loser of
# a race with the editor, the digest, the last model call, and the announcement of the chapter that comes next, if the
# run goes on. An edit committed while the chapter was being written has moved `content_version`: then the chapter keeps
# the user's text and the model's goes to the revisions. Each lock needs a row of the one before it: the run, the book,
# the chapter.
# As in BEGIN no plan may read a table or an index from end to end. Said plainly, the status would let the planner take
# the index of all active runs for that of this one, where it believes that there are none.
CHECKPOINT = f"""
    WITH others AS (
        SELECT count(*) AS total,
               count(*) FILTER (WHERE content <> '' AND rewrite_run IS DISTINCT FROM $1) AS done,
               min(chapter_number) FILTER (WHERE content = '' OR rewrite_run = $1) AS next
          FROM chapter
         WHERE book_id = (SELECT book_id FROM run WHERE id = $1) AND id <> $4
    ), fenced AS (
        UPDATE run r
           SET total = others.total + 1, done = others.done + 1, written = r.written + 1, call_no = r.call_no + 1,
               crash_count = 0, words_written = r.words_written + $7, draft_words = 0,
               writer = coalesce(r.writer, nullif($24, '')),
               writing_seconds = r.writing_seconds + coalesce(extract(epoch FROM now() - r.call_started_at), 0),
               call_started_at = CASE WHEN r.status = 'running' AND next IS NOT NULL THEN now() END,
               current_chapter = CASE WHEN r.status = 'running' THEN coalesce(next, r.current_chapter)
                                      ELSE r.current_chapter END,
               updated_at = now()
          FROM others
         WHERE r.id = $1 AND r.epoch = $2 AND r.call_no = $3
           AND (r.status IN ('queued', 'running', 'paused')) IS NOT FALSE
        RETURNING r.*
    ), of_book AS (
        SELECT id FROM book WHERE id = (SELECT book_id FROM fenced)
           FOR NO KEY UPDATE
    ), former AS (
        SELECT c.content, c.word_count, c.writer, c.content <> '' AS held, c.content_version = $5 AS same
          FROM chapter c WHERE c.id = $4 AND c.book_id = (SELECT id FROM of_book)
           FOR UPDATE OF c
    ), {keep_original("$22", "$23", "$24", "$4", "former")}, saved AS (
        UPDATE chapter c
           SET content = CASE WHEN same THEN $6 ELSE c.content END,
               word_count = CASE WHEN same THEN $7 ELSE c.word_count END,
               quality = CASE WHEN same THEN {with_revision("$8")} ELSE c.quality END,
               writer = CASE WHEN same THEN $24 ELSE c.writer END,
               status = CASE WHEN same OR held THEN 'completed' ELSE 'pending' END,
               content_version = c.content_version + same::int,
               updated_at = CASE WHEN same THEN now() ELSE c.updated_at END,
               written_at = CASE WHEN same THEN now() ELSE c.written_at END,
               rewrite_run = NULL
          FROM former WHERE c.id = $4
    ), revised AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer)
        SELECT $4, 'model', CASE WHEN same THEN content ELSE $6 END, CASE WHEN same THEN word_count ELSE $7 END,
               CASE WHEN same THEN writer ELSE $24 END
          FROM former WHERE held OR NOT same
    ), digested AS (
        INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
        SELECT $4, j ->> 'content_hash', j ->> 'summary', j -> 'facts', j -> 'threads_opened', j -> 'threads_closed'
          FROM former, LATERAL (SELECT $9::jsonb AS j) AS json
         WHERE same AND $9::jsonb IS NOT NULL
        ON CONFLICT DO NOTHING
    ), stored AS (
        INSERT INTO step (book_id, key, run_id, stage, chapter_number, reply)
        SELECT book_id, $10::text, id, $11, $12, $13 FROM fenced WHERE $10::text IS NOT NULL
        ON CONFLICT DO NOTHING
    ), paid AS (
        INSERT INTO {LEDGER}
        SELECT account_id, book_id, id, $11, $12, call.*
          FROM fenced,
               unnest($14::uuid[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[],
                      $20::integer[], $21::bigint[]) AS call
        {ONCE}
    ), marked AS (
        UPDATE chapter SET status = 'writing'
         WHERE id = ANY(ARRAY(SELECT (SELECT c.id FROM chapter c
                                       WHERE c.book_id = fenced.book_id AND c.chapter_number = fenced.current_chapter)
                                FROM fenced WHERE fenced.call_started_at IS NOT NULL))
    )
    SELECT {OF_RUN},
           CASE WHEN (SELECT same FROM former)
                THEN (SELECT book.updated_at FROM book WHERE book.id = fenced.book_id) END AS book_updated_at
      FROM fenced
"""


async def checkpoint(db: DB, rows: Sequence[Checkpoint]) -> dict[UUID, Saved]:
    """Commits finished chapters of different runs, all or none. A run that is absent from the answer was fenced off."""
    found = await db.fetchmany(CHECKPOINT, [_values(row) for row in rows])
    return {row["id"]: Saved(run_of(row), row["book_updated_at"]) for row in found}


def _values(row: Checkpoint) -> tuple[Any, ...]:
    return (
        row.run_id, row.epoch, row.call_no, row.chapter_id, row.seen, row.content, row.word_count,
        row.quality, row.digest, *(_step_values(row.step) if row.step else NO_STEP),
        row.original, row.original_words, row.writer,
    )  # fmt: skip


NO_STEP = (None,) * 12


def _step_values(step: Step) -> tuple[Any, ...]:
    return step.key, step.asked.stage, step.asked.chapter_number, step.reply, *values_of(step.asked.calls)


# Part of `steps.SAVE`. Its parameters are the run ($3), the chapter ($5) and the words that the chapter's draft has
# with the reply ($16); its CTE `stored` has a row if the reply is new. A new reply is progress: it clears the run of
# suspicion.
PROGRESS = """progress AS (
        UPDATE run
           SET crash_count = 0,
               draft_words = CASE WHEN current_chapter = $5 THEN coalesce($16, draft_words) ELSE draft_words END
         WHERE id = $3 AND EXISTS (SELECT FROM stored)
           AND (crash_count > 0 OR current_chapter = $5 AND draft_words <> $16)
    )"""


LOCK_AS_OURS = """
    SELECT true FROM run WHERE id = $1 AND epoch = $2 AND status IN ('queued', 'running', 'paused') FOR SHARE
"""


async def lock_as_ours(connection: asyncpg.Connection, run: Run) -> bool:
    """Whether what belongs to the run may be written under its epoch; nobody takes it until the transaction ends."""
    return bool(await connection.fetchval(LOCK_AS_OURS, run.id, run.epoch))


# Owned: taken over from a process that is gone, and handed back

# The suspected run that the dead owner of run `r` handled when it died; null if it handled none.
SUSPECT = "(SELECT p.probation FROM process p WHERE p.boot_id = r.owner)"

# A crash is charged to the suspected run that its process handled just then, if it did; else to all runs that it had
# begun to write. A suspect is charged only for a crash while it was handled, so that none is quarantined by accident.
# Where nothing else was being made there is no doubt whose crash it was: it counts double, whatever the run was at.
# Whether something was is judged once, by all that the process had, however many claims take its runs. The end of a
# process that had said that it drains is charged to nobody.
# The runs are updated by their ids alone, since a join may be planned by statistics that know of no run yet.
CLAIM = f"""
    WITH orphan AS (
        SELECT r.id, r.owner
          FROM run r LEFT JOIN process p ON p.boot_id = r.owner
         WHERE r.status = 'running' AND r.owner IS DISTINCT FROM $1
           AND (p.boot_id IS NULL OR p.lease_until <= now())
           AND NOT EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})
         ORDER BY r.queue_seq
         LIMIT $2
           FOR UPDATE OF r SKIP LOCKED
    ), dead AS (
        SELECT boot_id FROM process WHERE boot_id = ANY(ARRAY(SELECT owner FROM orphan)) ORDER BY boot_id FOR UPDATE
    ), single AS (
        SELECT owner FROM run
         WHERE status IN ('queued', 'running', 'paused') AND call_started_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM book_job j WHERE j.owner = run.owner)
           AND NOT EXISTS (SELECT FROM report o WHERE o.owner = run.owner AND o.status = 'running')
         GROUP BY owner HAVING count(*) = 1
    ), judged AS (
        UPDATE process p SET alone = coalesce(p.alone, p.boot_id = ANY(ARRAY(SELECT owner FROM single)))
         WHERE p.boot_id = ANY(ARRAY(SELECT boot_id FROM dead))
        RETURNING p.boot_id, p.alone, p.draining
    )
    UPDATE run r
       SET epoch = r.epoch + 1, owner = $1, call_started_at = NULL,
           crash_count = r.crash_count + (
               CASE WHEN r.owner IS NULL OR r.owner = ANY(ARRAY(SELECT boot_id FROM judged WHERE draining)) THEN 0
                    WHEN r.call_started_at IS NOT NULL
                         AND r.owner = ANY(ARRAY(SELECT boot_id FROM judged WHERE alone)) THEN 2
                    WHEN r.crash_count >= $3 THEN ({SUSPECT} IS NOT DISTINCT FROM r.id)::int
                    ELSE ({SUSPECT} IS NULL AND r.call_started_at IS NOT NULL)::int END)
     WHERE r.id = ANY(ARRAY(SELECT id FROM orphan))
    RETURNING r.*
"""


async def claim(db: DB, owner: UUID, limit: int, suspect_from: int) -> list[Run]:
    """Takes over running runs whose owner is gone and whose model `owner` has. `suspect_from` crashes make a suspect.

    What `owner` itself has stays as it is, however late its own lease is renewed: nobody else took it.
    """
    rows = await db.fetch(CLAIM, owner, limit, suspect_from)
    return sorted((run_of(row) for row in rows), key=lambda run: run.queue_seq)


def _with_chapters(take: str) -> str:
    """`take` takes runs from their process: from then on nobody writes a chapter of those that do not go on."""
    return f"""
    WITH taken AS ({take} RETURNING run.book_id, run.status)
    UPDATE chapter SET status = CASE WHEN content <> '' THEN 'completed' ELSE 'pending' END
     WHERE status = 'writing' AND book_id = ANY(ARRAY(SELECT book_id FROM taken WHERE status <> 'running'))
    """


HAND_OVER = """
    UPDATE run SET owner = NULL, call_started_at = NULL, epoch = epoch + 1
     WHERE id = $1 AND epoch = $2 AND owner = $3 AND status = 'running'
"""


async def hand_over(db: DB, run: Run) -> None:
    """Leaves a running run, between two chapters, to a process that has room for it."""
    await db.execute(HAND_OVER, run.id, run.epoch, run.owner)


# A paused or waiting run whose last call died with its process does not hold its account's slot.
FORGET_CALLS = _with_chapters("""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r
            WHERE r.status IN ('queued', 'paused') AND r.call_started_at IS NOT NULL AND r.owner IS DISTINCT FROM $1
              AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
              FOR UPDATE OF r SKIP LOCKED))
""")


async def forget_calls(db: DB, owner: UUID) -> None:
    """Clears calls in flight of processes that are gone, where no run has to be taken over for them.

    A run that another transaction has locked is left to the next time.
    """
    await db.execute(FORGET_CALLS, owner)


# Nobody is charged for a wait: should a process with the model come, it finds a run without an owner.
SET_ASIDE = f"""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r
            WHERE r.status = 'running' AND r.owner IS NOT NULL
              AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
              AND NOT EXISTS (SELECT FROM process o WHERE o.lease_until > now() AND {may_write("o")})
              FOR UPDATE OF r SKIP LOCKED))
"""


async def set_aside(db: DB) -> None:
    """Leaves the running runs of processes that are gone without an owner where no living process has their model."""
    await db.execute(SET_ASIDE)


WAITING = f"""
    SELECT r.writer, count(*) AS runs FROM run r
     WHERE r.status = 'running' AND r.owner IS NULL
       AND EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})
     GROUP BY r.writer
"""


async def waiting(db: DB, owner: UUID) -> dict[str, int]:
    """How many runs wait for each model that the process `owner` does not have."""
    return {row["writer"]: row["runs"] for row in await db.fetch(WAITING, owner)}


RELEASE = _with_chapters("""
    UPDATE run SET owner = NULL, call_started_at = NULL
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r WHERE r.owner = $1 AND r.status IN ('queued', 'running', 'paused')
              FOR UPDATE SKIP LOCKED))
""")


async def release(db: DB, owner: UUID) -> None:
    """A clean stop: the runs stay as they are, for the next process to claim without a charge.

    One that another transaction has locked stays the process's, and is claimed when its lease is over.
    """
    await db.execute(RELEASE, owner)


COUNT_WORDS = """
    UPDATE run SET words_counted = run.words_written
      FROM (SELECT id, words_counted FROM run WHERE id = $1 FOR UPDATE) AS before
     WHERE run.id = before.id
    RETURNING run.words_written - before.words_counted
"""


async def count_words(connection: asyncpg.Connection, run_id: UUID) -> int:
    """The words that the run has written since this was asked last."""
    return int(await connection.fetchval(COUNT_WORDS, run_id))
