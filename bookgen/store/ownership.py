"""Which process owns a run: sharing runs out, taking them over from dead processes, handing over, releasing.

A run is the writing of a book, and the process that owns the run does the writing. A process is alive while it renews
its lease, a row with an expiry time. Each process has one model, and may only write runs that this model may continue.
`call_started_at` of a run is set while a model call or other work of the run is in flight. The docstring of
`store/runs.py` lists which statement writes a run in which state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bookgen.models import Run
from bookgen.store.database import DB
from bookgen.store.runs import run_of
from bookgen.store.writers import may_write, takes_work


@dataclass(frozen=True, slots=True)
class Balance:
    """How a process's share of the runs compares with the number of runs that it owns.

    `room`: how many more runs the process may take over. `surplus`: how many runs it should hand over to others.
    `alive`: the process's lease is still valid by the database's clock. If not, the process must not take over runs.
    """

    room: int
    surplus: int
    alive: bool


# Runs are shared among the processes with the same model, so that every run finds a process that may write it.
COUNTS = f"""
    SELECT (SELECT count(*) FROM run r
             WHERE status = 'running'
               AND NOT EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})) AS running,
           (SELECT count(*) FROM run WHERE status = 'running' AND owner = $1) AS mine,
           (SELECT count(*) FROM process p
             WHERE {takes_work("p")} AND NOT p.draining
               AND NOT EXISTS (SELECT FROM process me
                                WHERE me.boot_id = $1
                                  AND (me.writer <> p.writer OR me.any_writer <> p.any_writer))) AS processes,
           EXISTS (SELECT FROM process WHERE boot_id = $1 AND lease_until > now()) AS alive
"""


async def balance(db: DB, owner: UUID) -> Balance:
    """Compare the number of runs that the process owns with its share: an equal part of the runs that it may write.

    The process may take over runs up to its share. It may keep a quarter more than its share, but at least one run
    more. Any runs beyond that are its surplus.
    """
    row = await db.fetchrow(COUNTS, owner)
    share = math.ceil(row["running"] / max(1, row["processes"]))
    return Balance(max(0, share - row["mine"]), max(0, row["mine"] - share - max(1, share // 4)), row["alive"])


STILL_RUNNING = "SELECT id FROM run WHERE id = ANY($1::uuid[]) AND owner = $2 AND status = 'running'"


async def still_running(db: DB, run_ids: Sequence[UUID], owner: UUID) -> set[UUID]:
    """Which of these runs are still running and owned by the process."""
    return {row["id"] for row in await db.fetch(STILL_RUNNING, list(run_ids), owner)}


OWNED = """
    SELECT * FROM run
     WHERE owner = $1
       AND (status = 'running' OR status IN ('queued', 'paused') AND call_started_at IS NOT NULL)
     ORDER BY queue_seq
"""


async def owned(db: DB, owner: UUID) -> list[Run]:
    """The runs that the process writes, and the paused or queued runs whose last call the process is finishing."""
    return [run_of(row) for row in await db.fetch(OWNED, owner)]


# The death of a process counts as a crash of a run that it was working on, unless the process was draining.
# The update selects runs by id only, because statistics that know of no runs yet can lead to a bad join plan.
CLAIM = f"""
    WITH orphan AS (
        SELECT r.id
          FROM run r LEFT JOIN process p ON p.boot_id = r.owner
         WHERE r.status = 'running' AND r.owner IS DISTINCT FROM $1
           AND (p.boot_id IS NULL OR p.lease_until <= now())
           AND NOT EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})
         ORDER BY r.queue_seq
         LIMIT $2
           FOR UPDATE OF r SKIP LOCKED
    )
    UPDATE run r
       SET epoch = r.epoch + 1, owner = $1, call_started_at = NULL,
           crash_count = r.crash_count + (
               r.owner IS NOT NULL AND r.call_started_at IS NOT NULL
               AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.draining))::int
     WHERE r.id = ANY(ARRAY(SELECT id FROM orphan))
    RETURNING r.*
"""


async def claim(db: DB, owner: UUID, limit: int) -> list[Run]:
    """Take over up to `limit` running runs that no live process owns and that the process `owner` may write.

    Returns these runs in the order of the queue. Runs that `owner` already has are not returned, even if its lease had
    expired: as they still name `owner`, no other process has taken them.
    """
    rows = await db.fetch(CLAIM, owner, limit)
    return sorted((run_of(row) for row in rows), key=lambda run: run.queue_seq)


def _with_chapters(take: str) -> str:
    """SQL that runs `take`, an UPDATE of runs, and then resets the chapters being written by paused or queued runs.

    In the books of these runs, a chapter with the status `writing` becomes `completed` if it has a text, and `pending`
    if it has none.
    """
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
    """Give up a running run between two chapters, so that another process can claim it."""
    await db.execute(HAND_OVER, run.id, run.epoch, run.owner)


# If the last call of a paused or queued run died with its process, the run must not keep holding its account's slot.
CLEAR_DEAD_CALLS = _with_chapters("""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r
            WHERE r.status IN ('queued', 'paused') AND r.call_started_at IS NOT NULL AND r.owner IS DISTINCT FROM $1
              AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
              FOR UPDATE OF r SKIP LOCKED))
""")


async def clear_dead_calls(db: DB, owner: UUID) -> None:
    """End the model calls of paused and queued runs whose processes have died. No process takes these runs over.

    Otherwise such a run would keep the other runs of its account waiting. Runs that another transaction has locked are
    left for the next time. `owner`: the calling process, whose own runs are not touched.
    """
    await db.execute(CLEAR_DEAD_CALLS, owner)


# Without an owner, the run is claimed without counting a crash once a process with its model joins.
DISOWN_UNWRITABLE = f"""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r
            WHERE r.status = 'running' AND r.owner IS NOT NULL
              AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
              AND NOT EXISTS (SELECT FROM process o WHERE {takes_work("o")} AND {may_write("o")})
              FOR UPDATE OF r SKIP LOCKED))
"""


async def disown_unwritable(db: DB) -> None:
    """Remove the owner of running runs whose process has died, if no live process has a model that may write them.

    When a process with the right model starts, it can take these runs over. The change of owner adds nothing to the
    count of crashes.
    """
    await db.execute(DISOWN_UNWRITABLE)


WAITING = f"""
    SELECT r.writer, count(*) AS runs FROM run r
     WHERE r.status = 'running' AND r.owner IS NULL
       AND EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})
     GROUP BY r.writer
"""


async def waiting(db: DB, owner: UUID) -> dict[str, int]:
    """For each model that the process `owner` does not have: how many runs need it and have no owner."""
    return {row["writer"]: row["runs"] for row in await db.fetch(WAITING, owner)}


RELEASE = _with_chapters("""
    UPDATE run SET owner = NULL, call_started_at = NULL
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r WHERE r.owner = $1 AND r.status IN ('queued', 'running', 'paused')
              FOR UPDATE SKIP LOCKED))
""")


async def release(db: DB, owner: UUID) -> None:
    """Give up all runs of the process when it ends cleanly, so that others can claim them without counting a crash.

    A run that another transaction has locked is skipped. Others can claim it once the process's lease has expired.
    """
    await db.execute(RELEASE, owner)


RELEASE_ALL = """
    UPDATE run SET owner = NULL, call_started_at = NULL, epoch = epoch + 1
     WHERE status IN ('queued', 'running', 'paused')
"""


async def release_all(db: DB) -> None:
    """Remove the owner of every active run. This is for a restored copy, where none of the owners is alive."""
    await db.execute(RELEASE_ALL)
