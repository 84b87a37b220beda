"""The add-ons of an account: which add-ons it can use now, and the uses that are reserved for runs.

A run is the writing of a book. It reserves a use of an add-on when it is accepted; this is called a hold.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from bookgen.billing.plan_features import SELF_HOSTED, left
from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing, is_entitled
from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED, OwnedAddon
from bookgen.store import addons, subscriptions
from bookgen.store.database import DB

MONTHLY = "monthly"
AUTOMATED_PRODUCTION, CHILDRENS_BOOK = "automated-production", "childrens-book"


def uses_remaining(owned: OwnedAddon, now: datetime, renewal_grace: timedelta) -> int:
    """How many uses of the add-on are left. A monthly add-on has -1 (unlimited) while it is paid for, otherwise 0."""
    if owned.billing_type != MONTHLY:
        return left(owned.bought, owned.taken)
    return UNLIMITED if is_entitled(owned, now, renewal_grace) else 0


async def require(db: DB, quota: Quota, standing: Standing, slug: str) -> OwnedAddon | None:
    """The account's usable add-on `slug`: monthly, or bought per use with a use left. None if the plan has all add-ons.

    Raises PlanUpgradeRequired, which names the add-on, if there is no usable add-on. Reserves nothing; `hold_use` does.
    """
    if _included(standing):
        return None
    now = quota.now()
    owned = [each for each in await addons.owned(db, standing.account_id, now, now, now) if each.addon.slug == slug]
    usable = next((each for each in owned if uses_remaining(each, now, quota.renewal_grace) != 0), None)
    if usable is None:
        addon = await addons.find(db, slug)
        raise PlanUpgradeRequired(
            f'This needs the add-on "{addon.name if addon else slug}". Buy it first (POST /auth/addons/checkout/).',
            addon=slug,
            upgrade_url=quota.addons_url,
        )
    return usable


async def hold_use(connection: DB, quota: Quota, standing: Standing, slug: str, run_id: UUID, book_id: int) -> None:
    """Reserve a use for a run. Call it in the transaction that accepts the run. Idempotent per run."""
    if _included(standing):
        return
    await subscriptions.lock(connection, standing.account_id)
    if await addons.take_over_use(connection, run_id, standing.account_id, slug, book_id, quota.now()):
        return
    if (usable := await require(connection, quota, standing, slug)) is not None:
        await addons.hold_use(connection, run_id, usable.id, book_id)


async def count_use(connection: DB, quota: Quota, run_id: UUID) -> None:
    """Turn the run's hold into a use. Call it in the transaction that completes the run. Idempotent."""
    await addons.count_use(connection, run_id, quota.now())


async def release_use(connection: DB, quota: Quota, account_id: int, run_id: UUID) -> None:
    """End the hold of a run that did not complete, so that the account can use the add-on for another book.

    But if the run made model calls that cost money, the use stays reserved for the book's next run until the period
    ends.
    """
    period = await quota.period(connection, account_id)
    await addons.release_use(connection, run_id, period.end)


def _included(standing: Standing) -> bool:
    return standing.plan.slug == SELF_HOSTED
