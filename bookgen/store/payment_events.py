"""Events from the payment processor, and a version number for each object there that we have read, such as a customer.

The version grows whenever we apply the object to our rows, so that an outdated copy of the object is not applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bookgen.store.database import DB

KEEP = """
    INSERT INTO payment_event (id, type, payload, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING
"""


async def keep(db: DB, event_id: str, type: str, payload: Mapping[str, Any], created_at: datetime) -> None:
    await db.execute(KEEP, event_id, type, payload, created_at)


APPLIED = "SELECT EXISTS (SELECT FROM payment_event WHERE id = $1 AND applied_at IS NOT NULL)"


async def is_applied(db: DB, event_id: str) -> bool:
    return bool(await db.fetchval(APPLIED, event_id))


MARK_APPLIED = """
    UPDATE payment_event SET applied_at = now(), outcome = $2 WHERE id = $1 AND applied_at IS NULL RETURNING true
"""


async def mark_applied(connection: DB, event_id: str, outcome: str) -> bool:
    """Mark the event as applied, in the transaction that applies it. Returns False if it was applied before."""
    return bool(await connection.fetchval(MARK_APPLIED, event_id, outcome))


WAITING = "SELECT payload FROM payment_event WHERE applied_at IS NULL ORDER BY created_at, id"

ALL = "SELECT payload FROM payment_event ORDER BY created_at, id"


async def listed(db: DB, *, waiting_only: bool) -> list[Mapping[str, Any]]:
    return [row["payload"] for row in await db.fetch(WAITING if waiting_only else ALL)]


OUTCOME = "SELECT outcome FROM payment_event WHERE id = $1"


async def outcome(db: DB, event_id: str) -> str:
    found: str = await db.fetchval(OUTCOME, event_id)
    return found


VERSION = "SELECT coalesce((SELECT version FROM payment_object WHERE id = $1), 0)"


async def version(db: DB, object_id: str) -> int:
    found: int = await db.fetchval(VERSION, object_id)
    return found


ADVANCE = """
    INSERT INTO payment_object AS o (id, version) VALUES ($1, 1)
    ON CONFLICT (id) DO UPDATE SET version = o.version + 1 WHERE o.version = $2
    RETURNING version = $2 + 1
"""


async def advance(connection: DB, object_id: str, seen: int) -> bool:
    """Raise the object's version by one if it is still `seen`. Returns False if someone else has raised it."""
    return bool(await connection.fetchval(ADVANCE, object_id, seen))
