"""Reservations: the maximum cost of each model call in progress.

A call's reservation ends when the call is recorded in the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first cap that the call could exceed, with the amounts spent and reserved under it.

    Amounts are in millionths of the currency.
    """

    cap: str
    spent: int
    reserved: int


RESERVE = "SELECT cap, spent, reserved FROM reserve_cost($1, $2, $3, $4, $5, $6, $7)"


async def reserve(
    db: DB,
    call_id: UUID,
    account_id: int | None,
    book_id: int | None,
    cost_micros: int,
    book_cap: int | None,
    account_day_cap: int | None,
    day_cap: int | None,
) -> Refusal | None:
    """Reserve the cost of a call, or return the cap that it would exceed. Idempotent.

    Costs and caps are in millionths of the currency, such as 0.000001 dollars. A cap of None does not apply.
    """
    row = await db.fetchrow(
        RESERVE, call_id, account_id, book_id, cost_micros, book_cap, account_day_cap, day_cap
    )  # fmt: skip
    return Refusal(**row) if row["cap"] else None


RELEASE = "DELETE FROM cost_reservation WHERE call_id = $1"


async def release(db: DB, call_id: UUID) -> None:
    """Release the reservation of a call that was not charged."""
    await db.execute(RELEASE, call_id)


# Two days, because a call that began yesterday may still be recorded, and counts for yesterday.
PRUNE = "DELETE FROM cost_reservation WHERE created_at < now() - interval '2 days'"


async def prune(db: DB) -> None:
    """Delete reservations that are too old to count towards a daily cap."""
    await db.execute(PRUNE)
