"""What calls under way may cost at most. The entry of a call in the ledger ends its reservation."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first cap that a call could pass, and what is spent under it and reserved for other calls, in millionths."""

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
    """Sets the cost aside, unless a cap would be passed. It can be repeated."""
    row = await db.fetchrow(
        RESERVE, call_id, account_id, book_id, cost_micros, book_cap, account_day_cap, day_cap
    )  # fmt: skip
    return Refusal(**row) if row["cap"] else None


RELEASE = "DELETE FROM cost_reservation WHERE call_id = $1"


async def release(db: DB, call_id: UUID) -> None:
    """Gives back what a call was not charged for."""
    await db.execute(RELEASE, call_id)


# A call that began yesterday may still be entered, on its own day.
PRUNE = "DELETE FROM cost_reservation WHERE created_at < now() - interval '2 days'"


async def prune(db: DB) -> None:
    """Deletes what no day counts any more."""
    await db.execute(PRUNE)
