"""Which runs a process owns."""

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
