"""Which process owns a run: shared out, taken over from a process that is gone, handed over, released.

`store/runs.py` has the table of all statements that write a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bookgen.models import Run
from bookgen.store.database import DB
from bookgen.store.runs import run_of
from bookgen.store.writers import may_write


@dataclass(frozen=True, slots=True)
class Balance:
    """How many more runs a process may take over, and how many it has beyond its share.

    `alive`: its own lease still runs by the server's clock. One without may not take anything from others.
    """

    room: int
    surplus: int
    alive: bool


# Runs are shared by the processes that have the same model, so that each run finds one that may write it.
COUNTS = f"""
    SELECT (SELECT count(*) FROM run r
             WHERE status = 'running'
               AND NOT EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})) AS running,
           (SELECT count(*) FROM run WHERE status = 'running' AND owner = $1) AS mine,
           (SELECT count(*) FROM process p
             WHERE p.lease_until > now() AND NOT p.draining
               AND NOT EXISTS (SELECT FROM process me
                                WHERE me.boot_id = $1
                                  AND (me.writer <> p.writer OR me.any_writer <> p.any_writer))) AS processes,
           EXISTS (SELECT FROM process WHERE boot_id = $1 AND lease_until > now()) AS alive
"""


async def balance(db: DB, owner: UUID) -> Balance:
    """Compares what the process writes with an even share of the running runs that it may write.

    A quarter more is no surplus yet.
    """
    row = await db.fetchrow(COUNTS, owner)
    share = math.ceil(row["running"] / max(1, row["processes"]))
    return Balance(max(0, share - row["mine"]), max(0, row["mine"] - share - max(1, share // 4)), row["alive"])


STILL_RUNNING = "SELECT id FROM run WHERE id = ANY($1::uuid[]) AND owner = $2 AND status = 'running'"


async def still_running(db: DB, run_ids: Sequence[UUID], owner: UUID) -> set[UUID]:
    """Which of these runs still are running and the process's own."""
    return {row["id"] for row in await db.fetch(STILL_RUNNING, list(run_ids), owner)}


OWNED = """
    SELECT * FROM run
     WHERE owner = $1
       AND (status = 'running' OR status IN ('queued', 'paused') AND call_started_at IS NOT NULL)
     ORDER BY queue_seq
"""


async def owned(db: DB, owner: UUID) -> list[Run]:
    """The runs that the process writes, and the paused and queued ones of which it finishes a chapter."""
    return [run_of(row) for row in await db.fetch(OWNED, owner)]


# A run is charged for the death of its process if it was being worked on, unless the process had said that it drains.
# The runs are updated by their ids alone, since a join may be planned by statistics that know of no run yet.
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
    """Take over running runs whose owner is gone and whose model `owner` has.

    The runs of `owner` itself stay as they are, however late it renews its lease: nobody else took them.
    """
    rows = await db.fetch(CLAIM, owner, limit)
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
