"""Image holds: images that are being made, and count as reserved from an account's image allowance."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from bookgen.store.database import DB

# A run may wait a day for its provider, so its hold lasts as long as the run is active.
OF_ACTIVE_RUN = """
    EXISTS (SELECT FROM run r WHERE r.id = image_hold.id AND r.status IN ('queued', 'running', 'paused'))"""

# An active run of a children's book holds one image for each double page (a chapter) that it still has to make.
HELD = f"""
    SELECT (SELECT coalesce(sum(images), 0)
              FROM image_hold
             WHERE account_id = $1 AND period_start = $2 AND (held_until > now() OR {OF_ACTIVE_RUN}))::integer
         + (SELECT count(*)
              FROM run r
              JOIN book b ON b.id = r.book_id AND b.kind = 'childrens'
              JOIN chapter c ON c.book_id = b.id AND (c.content = '' OR c.rewrite_run = r.id)
             WHERE r.account_id = $1 AND r.status IN ('queued', 'running', 'paused')
               AND b.id IS DISTINCT FROM $3)::integer
"""


async def held(db: DB, account_id: int, period_start: datetime, *, but_of: int | None = None) -> int:
    """How many images of the period's allowance are reserved.

    Reserved are images that are being made, and those that runs of children's books still have to make. `but_of`: the
    id of a book whose run is left out of this count.
    """
    images: int = await db.fetchval(HELD, account_id, period_start, but_of)
    return images


ADD = """
    INSERT INTO image_hold (id, account_id, images, period_start, period_end, held_until)
    VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
"""


async def add(
    db: DB, hold_id: UUID, account_id: int, images: int, start: datetime, end: datetime, seconds: float
) -> None:
    await db.execute(ADD, hold_id, account_id, images, start, end, seconds)


REMOVE = f"""
    DELETE FROM image_hold
     WHERE account_id = $1 AND (id = $2 OR (held_until <= now() AND NOT {OF_ACTIVE_RUN}))
"""


async def remove(db: DB, account_id: int, hold_id: UUID) -> None:
    """Delete this hold, and the account's expired holds, which dead processes left."""
    await db.execute(REMOVE, account_id, hold_id)
