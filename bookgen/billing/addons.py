"""Add-ons that an account owns: which may be used now, and what a production takes of them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from bookgen.billing.plans import left
from bookgen.billing.standing import entitled
from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED, OwnedAddon
from bookgen.store import addons, subscriptions
from bookgen.store.database import DB

MONTHLY = "monthly"


def uses_remaining(owned: OwnedAddon, now: datetime) -> int:
    """-1 for an add-on owned by the month, as long as it is paid for."""
    if owned.billing_type != MONTHLY:
        return left(owned.bought, owned.taken)
    return UNLIMITED if entitled(owned.status, owned.current_period_end, owned.past_due_since, now) else 0


async def hold_use(
    connection: DB, account_id: int, slug: str, run_id: UUID, book_id: int, now: datetime, upgrade_url: str
) -> None:
    """Sets a use aside for a production, in the transaction that accepts it; by the month before by use."""
    await subscriptions.lock(connection, account_id)
    owned = [each for each in await addons.owned(connection, account_id, now, now) if each.addon.slug == slug]
    owned.sort(key=lambda each: each.billing_type != MONTHLY)
    usable = next((each for each in owned if uses_remaining(each, now) != 0), None)
    if usable is None:
        raise PlanUpgradeRequired("This needs an add-on.", addon=slug, upgrade_url=upgrade_url)
    await addons.hold_use(connection, run_id, usable.id, book_id)
