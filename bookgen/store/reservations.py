"""What calls under way may cost at most. The entry of a call in the ledger ends its reservation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from uuid import UUID

from bookgen.store.database import DB
from bookgen.store.rows import field_names


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first cap that a call could pass, and what is spent under it and reserved for other calls, in millionths."""

    cap: str
    spent: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """The wish to set aside what a call may cost at most, under caps; None is no cap."""

    call_id: UUID
    account_id: int | None
    book_id: int | None
    cost_micros: int
    book_cap: int | None
    account_day_cap: int | None
    day_cap: int | None


_values = attrgetter(*field_names(Reservation))

RESERVE = """
    SELECT $1::uuid AS call_id, cap, spent, reserved FROM reserve_cost($1::uuid, $2, $3, $4, $5, $6, $7)
"""


async def reserve(db: DB, asked: Sequence[Reservation]) -> dict[UUID, Refusal]:
    """Sets each cost aside unless a cap would be passed: then the call has a refusal. It can be repeated."""
    in_order = sorted(asked, key=lambda each: each.account_id or 0)  # of the locks, so that no two wait for each other
    rows = await db.fetchmany(RESERVE, [_values(each) for each in in_order])
    return {row["call_id"]: Refusal(row["cap"], row["spent"], row["reserved"]) for row in rows if row["cap"]}


RELEASE = "DELETE FROM cost_reservation WHERE call_id = $1"


async def release(db: DB, call_id: UUID) -> None:
    """Gives back what a call was not charged for."""
    await db.execute(RELEASE, call_id)


# A call that began yesterday may still be entered, on its own day.
PRUNE = "DELETE FROM cost_reservation WHERE created_at < now() - interval '2 days'"


async def prune(db: DB) -> None:
    """Deletes what no day counts any more."""
    await db.execute(PRUNE)
