"""The time of the next payment reconciliation (a comparison with the payment processor), shared by all processes."""

from __future__ import annotations

from datetime import datetime, timedelta

from bookgen.store.database import DB

CLAIM = "UPDATE reconciliation SET due_at = $1::timestamptz + $2::interval WHERE due_at <= $1 RETURNING true"


async def claim(db: DB, now: datetime, lease: timedelta) -> bool:
    """Claim the reconciliation if it is due at `now`. Returns whether the caller has claimed it and must now do it.

    If the caller dies, another process can claim it after `lease`. When the work is done, `plan` sets the next time.
    """
    return bool(await db.fetchval(CLAIM, now, lease))


PLAN = "UPDATE reconciliation SET due_at = $1"


async def plan(db: DB, due_at: datetime) -> None:
    await db.execute(PLAN, due_at)
