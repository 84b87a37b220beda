"""Runs: the state machine of the table `run`, and the statements that write decisions about a run.

A run is the writing of a book. It counts the words that it wrote, those of the draft (the unfinished chapter), and the
lost words, which were paid for but are in no text. Its epoch grows whenever a process takes it over, and its call
number with each announced chapter or other work. Each account has one slot, which a run takes up while it is written.

`store/checkpoints.py` writes a run together with its chapters. `store/ownership.py` writes which process owns it.

The transitions of a run's state:

    from        to                                          by
    (none)      queued, running                             insert: generate was accepted
    queued      running                                     promote: the account's slot is free
    queued      paused, stopped, error                      save
    running     paused, stopped, completed, error           save
    paused      queued, running, stopped, completed, error  save
    error       queued, running, stopped                    save
    stopped     nothing                                     a new run is inserted
    completed   nothing                                     a new run is inserted

`save` writes what `actors.run_transitions` has decided, under the locks of `book_state.lock`, and only along
`TRANSITIONS`. The other statements do not change the state. This table says in which state of a run each statement may
write it, which condition keeps out a process with outdated data ("fenced by"), and what the statement writes:

    statement            in the state                    fenced by                   it writes
    begin                running                         epoch                       call number, announced chapter
    begin_phase          running                         epoch and phase             call number, no chapter
    commit               queued, running, paused         epoch and call number       progress, chapter announced next
    claim                running                         the owner's lease expired   epoch, owner, crash count
    clear_dead_calls     queued, paused                  the owner's lease expired   epoch, owner, no call in flight
    disown_unwritable    running                         the owner's lease expired   epoch, no owner, no call in flight
    hand_over            running                         epoch, owner                epoch, no owner, no call in flight
    release              queued, running, paused         owner                       no owner, no call in flight
    PROGRESS             queued, running, paused, error  the reply is new            crash count, words of the draft
    forget_draft         any                             locks of `book_state.lock`  no words of a draft
    count_cut_off        stopped                         the call is new             words of a call that was cut off
    LOST_REPLY           stopped                         the call is new             words of a reply that came late
    count_failed         any                             locks of `book_state.lock`  words of calls that failed
    recount              paused                          locks of `book_state.lock`  the number of chapters
    count_words          any                             locks of `book_state.lock`  words that its usage counts

Two more are not in the table: `inherit` hands an unfinished chapter from an ended run to a new one, and `release_all`
leaves every active run of a restored copy without an owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

import asyncpg

from bookgen.models import Run, RunStatus
from bookgen.store.database import DB
from bookgen.store.rows import mapper
from bookgen.store.slots import holds_slot

run_of = mapper(Run)

# The transitions that `save` accepts. It also accepts a run whose state does not change.
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


INSERT = """
    INSERT INTO run (id, book_id, account_id, status, mode, total, done, call_no, epoch, owner, last_op, phase, writer,
                     makes_cover)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    RETURNING *
"""


async def insert(connection: asyncpg.Connection, run: Run) -> Run:
    """Store a new run."""
    row = await connection.fetchrow(
        INSERT, run.id, run.book_id, run.account_id, run.status, run.mode, run.total, run.done,
        run.call_no, run.epoch, run.owner, run.last_op, run.phase, run.writer, run.makes_cover,
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
    """Store a run as a decision has changed it. The caller's transaction has locked the run's row.

    Raises RuntimeError if `TRANSITIONS` does not allow the step from the stored state to that of `run`. `to_tail`: move
    the run to the end of the queue.
    """
    sources = [run.status, *(status for status, targets in TRANSITIONS.items() if run.status in targets)]
    row = await connection.fetchrow(
        SAVE, run.id, run.status, run.mode, run.total, run.done, run.call_no, run.epoch, run.owner, run.crash_count,
        run.failure, run.last_op, run.call_started_at is not None, to_tail, sources, run.phase, run.remark,
    )  # fmt: skip
    if row is None:
        raise RuntimeError(f"Run {run.id} cannot become {run.status}: its stored state does not allow it.")
    return run_of(row)


PROMOTE = f"""
    UPDATE run SET status = 'running', epoch = epoch + 1, owner = $2, call_started_at = NULL, updated_at = now()
     WHERE id = (SELECT id FROM run WHERE account_id = $1 AND status = 'queued' ORDER BY queue_seq LIMIT 1)
       AND NOT EXISTS (SELECT FROM run r WHERE r.account_id = $1 AND {holds_slot("'running'", "$3")})
    RETURNING *
"""


async def promote(connection: asyncpg.Connection, account_id: int, owner: UUID, call_seconds: float) -> Run | None:
    """Start the account's first queued run, or return None if another run holds the account's slot (see `slots`).

    The caller has locked the slot. `owner`: the process that the run is given to. `call_seconds`: see `holds_slot`.
    """
    row = await connection.fetchrow(PROMOTE, account_id, owner, float(call_seconds))
    return row and run_of(row)


RECOUNT = "UPDATE run SET total = $2 WHERE book_id = $1 AND status = 'paused'"


async def recount(connection: asyncpg.Connection, book_id: int, chapters: int) -> None:
    """Set the chapter count of the book's paused run after a change of the outline."""
    await connection.execute(RECOUNT, book_id, chapters)


FORGET_DRAFT = "UPDATE run SET words_lost = words_lost + draft_words, draft_words = 0 WHERE id = $1"


async def forget_draft(connection: asyncpg.Connection, run_id: UUID) -> None:
    """Count the words of the unfinished chapter as lost. Call this when the stored parts of the chapter are deleted."""
    await connection.execute(FORGET_DRAFT, run_id)


# Part of `steps.SAVE`. Its parameters are the run ($3), the chapter ($5) and the words that the chapter's draft has
# with the reply ($16); its CTE `stored` has a row if the reply is new. A new reply is progress: the
# deaths of processes before it no longer count.
PROGRESS = """progress AS (
        UPDATE run
           SET crash_count = 0,
               draft_words = CASE WHEN current_chapter = $5 THEN coalesce($16, draft_words) ELSE draft_words END,
               words_lost = words_lost + CASE WHEN current_chapter = $5 AND $16 < draft_words
                                              THEN draft_words - $16 ELSE 0 END
         WHERE id = $3 AND EXISTS (SELECT FROM stored)
           AND (crash_count > 0 OR current_chapter = $5 AND draft_words <> $16)
    )"""


# Part of `steps.SAVE` too. Its CTEs `of_run` and `entered` have the run's state and a row if the call is new in the
# ledger; $17 is what the call counts. A stop came after the reply, so its text cannot be used.
LOST_REPLY = """lost AS (
        UPDATE run SET words_lost = words_lost + $17
         WHERE id = $3 AND EXISTS (SELECT FROM of_run WHERE status = 'stopped') AND EXISTS (SELECT FROM entered)
    )"""


LOCK_AS_OURS = """
    SELECT true FROM run WHERE id = $1 AND epoch = $2 AND status IN ('queued', 'running', 'paused') FOR SHARE
"""


async def lock_as_ours(connection: asyncpg.Connection, run: Run) -> bool:
    """Lock the run if it is active and still has the epoch of `run`. Returns whether it was locked.

    The epoch changes when another process takes the run over. No process can do that until the transaction ends.
    """
    return bool(await connection.fetchval(LOCK_AS_OURS, run.id, run.epoch))


COUNT_WORDS = """
    UPDATE run SET words_counted = greatest(run.words_counted, run.words_written + run.draft_words + run.words_lost)
      FROM (SELECT id, words_counted FROM run WHERE id = $1 FOR UPDATE) AS before
     WHERE run.id = before.id
    RETURNING run.words_counted - before.words_counted
"""


async def count_words(connection: asyncpg.Connection, run_id: UUID) -> int:
    """Mark all words of the run as counted in its account's usage. Returns how many words were not marked before."""
    return int(await connection.fetchval(COUNT_WORDS, run_id))


# The parts of the former run pass to the new run, and so do their words, which are counted already.
INHERIT = """
    WITH former AS (UPDATE run SET draft_words = 0, words_counted = words_counted - $5::bigint WHERE id = $1),
         parts AS (UPDATE step SET run_id = $2 WHERE run_id = $1)
    UPDATE run SET salt = $3, current_chapter = $4, draft_words = $5::bigint, words_counted = $5::bigint
     WHERE id = $2
    RETURNING *
"""


async def inherit(connection: asyncpg.Connection, run: Run, former: Run) -> Run:
    """Hand the unfinished chapter of `former`, an ended run of the same book, to the new run. Returns the new run.

    The new run continues from the stored parts of the chapter, whose words are already counted.
    """
    salt = former.salt or former.id
    row = await connection.fetchrow(INHERIT, former.id, run.id, salt, former.current_chapter, former.draft_words)
    return run_of(row)


COUNT_CUT_OFF = """
    UPDATE run SET words_lost = words_lost + $2, lost_calls = lost_calls || $3::uuid
     WHERE id = $1 AND status = 'stopped' AND $3 <> ALL (lost_calls)
"""


async def count_cut_off(db: DB, run_id: UUID, words: int, call_id: UUID) -> None:
    """Count `words` as lost: a model call was asked for them, but was cut off by a stop, and is charged in part.

    Idempotent per `call_id`. Does nothing unless the run is stopped.
    """
    await db.execute(COUNT_CUT_OFF, run_id, words, call_id)


COUNT_FAILED = "UPDATE run SET words_lost = words_lost + $2 WHERE id = $1"


async def count_failed(connection: asyncpg.Connection, run_id: UUID, words: int) -> None:
    """Count `words` as lost: failed model calls were asked for them. The calls were charged, but gave no text."""
    await connection.execute(COUNT_FAILED, run_id, words)
