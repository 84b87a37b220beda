"""Who writes which run: taking over what a gone process left, and handing everything back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from bookgen.models import Run
from bookgen.store.database import DB
from bookgen.store.runs import run_of

STILL_OURS = "SELECT id FROM run WHERE id = ANY($1::uuid[]) AND owner = $2 AND status = 'running'"


async def still_running(db: DB, run_ids: Sequence[UUID], owner: UUID) -> set[UUID]:
    """Which of these runs still are running and the process's own."""
    return {row["id"] for row in await db.fetch(STILL_OURS, list(run_ids), owner)}


OWNED = "SELECT * FROM run WHERE owner = $1 AND status = 'running' ORDER BY queue_seq"


async def owned(db: DB, owner: UUID) -> list[Run]:
    return [run_of(row) for row in await db.fetch(OWNED, owner)]


SAID_TO_FINISH = """
    SELECT * FROM run WHERE owner = $1 AND status IN ('queued', 'paused') AND call_started_at IS NOT NULL
"""


async def said_to_finish(db: DB, owner: UUID) -> list[Run]:
    """Paused and waiting runs of which the process is to finish a chapter."""
    return [run_of(row) for row in await db.fetch(SAID_TO_FINISH, owner)]


TRIED = "(SELECT p.probation FROM process p WHERE p.boot_id = r.owner)"

# A crash is charged to the run that its process was trying out, if it was; else to all of its runs that it had begun
# to write. A suspect is charged only for a crash in the middle of its trial, so that it is never condemned by accident.
# Where nothing else was being made there is no doubt whose crash it was: it counts double, whatever the run was at.
# The runs are updated by their ids alone, since a join may be planned by statistics that know of no run yet.
CLAIM = f"""
    WITH orphan AS (
        SELECT r.id
          FROM run r LEFT JOIN process p ON p.boot_id = r.owner
         WHERE r.status = 'running' AND r.owner IS DISTINCT FROM $1
           AND (p.boot_id IS NULL OR p.lease_until <= now())
         ORDER BY r.queue_seq
         LIMIT $2
           FOR UPDATE OF r SKIP LOCKED
    ), alone AS (
        SELECT owner FROM run
         WHERE status IN ('queued', 'running', 'paused') AND call_started_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM book_job j WHERE j.owner = run.owner)
         GROUP BY owner HAVING count(*) = 1
    )
    UPDATE run r
       SET epoch = r.epoch + 1, owner = $1, call_started_at = NULL,
           crash_count = r.crash_count + (
               CASE WHEN r.owner IS NULL THEN 0
                    WHEN r.call_started_at IS NOT NULL AND r.owner = ANY(ARRAY(SELECT owner FROM alone)) THEN 2
                    WHEN r.crash_count >= $3 THEN ({TRIED} IS NOT DISTINCT FROM r.id)::int
                    ELSE ({TRIED} IS NULL AND r.call_started_at IS NOT NULL)::int END)
     WHERE r.id = ANY(ARRAY(SELECT id FROM orphan))
    RETURNING r.*
"""


async def claim(db: DB, owner: UUID, limit: int, suspect_from: int) -> list[Run]:
    """Takes over running runs whose owner is gone. `suspect_from` crashes make a run a suspect.

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


# A paused or waiting run whose last call died with its process keeps nobody from the account's turn.
FORGET_CALLS = _with_chapters("""
    UPDATE run SET call_started_at = NULL, epoch = epoch + 1, owner = NULL, updated_at = now()
     WHERE status IN ('queued', 'paused') AND call_started_at IS NOT NULL AND owner IS DISTINCT FROM $1
       AND NOT EXISTS (SELECT FROM process p WHERE p.boot_id = run.owner AND p.lease_until > now())
""")


async def forget_calls(db: DB, owner: UUID) -> None:
    """Clears calls in flight of processes that are gone, where no run has to be taken over for them."""
    await db.execute(FORGET_CALLS, owner)


RELEASE = _with_chapters("""
    UPDATE run SET owner = NULL, call_started_at = NULL
     WHERE owner = $1 AND status IN ('queued', 'running', 'paused')
""")


async def release(db: DB, owner: UUID) -> None:
    """A clean stop: the runs stay as they are, for the next process to claim without a charge."""
    await db.execute(RELEASE, owner)
