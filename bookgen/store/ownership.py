"""Which process owns a run: sharing runs out, taking them over from dead processes, handing over, releasing.

The docstring of `store/runs.py` lists all statements that write a run.
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
    """How many more runs a process may take over (`room`), and how many it has beyond its share (`surplus`).

    `alive`: its lease is still valid by the server's clock. A process without a valid lease must not take over runs.
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
    """Compare the process's runs with an even share of the running runs that it may write.

    A process may exceed its share by a quarter, or by one run if that is more. Only what it has beyond that is surplus.
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
    """The runs that the process writes, and paused or queued runs for which it is finishing a call."""
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
    """Take over running runs of dead processes that the process `owner` may write. Returns them in queue order.

    Runs that `owner` already owns are not returned: even if its lease had expired, no other process has taken them.
    """
    rows = await db.fetch(CLAIM, owner, limit)
    return sorted((run_of(row) for row in rows), key=lambda run: run.queue_seq)


def _with_chapters(take: str) -> str:
    """SQL that runs `take`, an update of runs. If a run is not running then, its `writing` chapter is reset."""
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
    """Give up a running run between two chapters, so that a process with room can claim it."""
    await db.execute(HAND_OVER, run.id, run.epoch, run.owner)


# If the last call of a paused or queued run died with its process, the run must not keep holding its account's slot.
FORGET_CALLS = _with_chapters("""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r
            WHERE r.status IN ('queued', 'paused') AND r.call_started_at IS NOT NULL AND r.owner IS DISTINCT FROM $1
              AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
              FOR UPDATE OF r SKIP LOCKED))
""")


async def forget_calls(db: DB, owner: UUID) -> None:
    """Clear calls in flight of dead processes on paused and queued runs, which nobody takes over.

    A run that another transaction has locked is skipped this time.
    """
    await db.execute(FORGET_CALLS, owner)


# Without an owner, the run is claimed without counting a crash once a process with its model joins.
SET_ASIDE = f"""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r
            WHERE r.status = 'running' AND r.owner IS NOT NULL
              AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now())
              AND NOT EXISTS (SELECT FROM process o WHERE {takes_work("o")} AND {may_write("o")})
              FOR UPDATE OF r SKIP LOCKED))
"""


async def set_aside(db: DB) -> None:
    """Clear the owner of dead processes' running runs if no living process may write them."""
    await db.execute(SET_ASIDE)


WAITING = f"""
    SELECT r.writer, count(*) AS runs FROM run r
     WHERE r.status = 'running' AND r.owner IS NULL
       AND EXISTS (SELECT FROM process me WHERE me.boot_id = $1 AND NOT {may_write("me")})
     GROUP BY r.writer
"""


async def waiting(db: DB, owner: UUID) -> dict[str, int]:
    """How many runs wait for a model that the process `owner` does not have, by model."""
    return {row["writer"]: row["runs"] for row in await db.fetch(WAITING, owner)}


RELEASE = _with_chapters("""
    UPDATE run SET owner = NULL, call_started_at = NULL
     WHERE id = ANY(ARRAY(
           SELECT r.id FROM run r WHERE r.owner = $1 AND r.status IN ('queued', 'running', 'paused')
              FOR UPDATE SKIP LOCKED))
""")


async def release(db: DB, owner: UUID) -> None:
    """Release the process's runs at a clean stop, so that others can claim them without counting a crash.

    A run that another transaction has locked is skipped. It can be claimed once the process's lease expires.
    """
    await db.execute(RELEASE, owner)


RELEASE_ALL = """
    UPDATE run SET owner = NULL, call_started_at = NULL, epoch = epoch + 1
     WHERE status IN ('queued', 'running', 'paused')
"""


async def release_all(db: DB) -> None:
    """Release every active run from its former process, in a restored copy where no process is alive."""
    await db.execute(RELEASE_ALL)
