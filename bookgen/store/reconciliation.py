"""When payments are next reconciled, once for all processes."""

from __future__ import annotations

from datetime import datetime, timedelta

from bookgen.store.database import DB

CLAIM = "UPDATE reconciliation SET due_at = $1::timestamptz + $2::interval WHERE due_at <= $1 RETURNING true"


async def claim(db: DB, now: datetime, lease: timedelta) -> bool:
    """Whether it is due and the caller's to do. It is due again after `lease`, unless it is planned before."""
    return bool(await db.fetchval(CLAIM, now, lease))


PLAN = "UPDATE reconciliation SET due_at = $1"


async def plan(db: DB, due_at: datetime) -> None:
    await db.execute(PLAN, due_at)
