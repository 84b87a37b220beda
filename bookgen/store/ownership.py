"""Which runs a process owns."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from bookgen.models import Run
from bookgen.store.database import DB
from bookgen.store.runs import run_of

STILL_RUNNING = "SELECT id FROM run WHERE id = ANY($1::uuid[]) AND owner = $2 AND status = 'running'"


async def still_running(db: DB, run_ids: Sequence[UUID], owner: UUID) -> set[UUID]:
    """Which of these runs still are running and the process's own."""
    return {row["id"] for row in await db.fetch(STILL_RUNNING, list(run_ids), owner)}


OWNED = "SELECT * FROM run WHERE owner = $1 AND status = 'running' ORDER BY queue_seq"


async def owned(db: DB, owner: UUID) -> list[Run]:
    return [run_of(row) for row in await db.fetch(OWNED, owner)]


FINISHING = """
    SELECT * FROM run WHERE owner = $1 AND status IN ('queued', 'paused') AND call_started_at IS NOT NULL
"""


async def finishing(db: DB, owner: UUID) -> list[Run]:
    """Paused and queued runs of which the process finishes a chapter."""
    return [run_of(row) for row in await db.fetch(FINISHING, owner)]
