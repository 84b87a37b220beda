"""The storage limit of an account: how many megabytes of text and pictures its plan allows."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing
from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED
from bookgen.store import storage
from bookgen.store.database import DB

MEGABYTE = 1_000_000


async def has_unlimited_storage(db: DB, quota: Quota, account_id: int) -> bool:
    """Whether the account's plan has no storage limit."""
    return (await quota.plan(db, account_id)).features.max_stored_mb == UNLIMITED


async def require_stored(connection: DB, quota: Quota, account_id: int, *, growth: int = 0) -> None:
    """Raise PlanUpgradeRequired if the account stores more than its plan allows, or would with `growth` more bytes.

    Call it in the transaction that stores something: after writing the rows, or before with their size as `growth`.
    This locks the account's storage until the transaction ends, so that other transactions cannot add to it meanwhile.
    """
    allowed = (await quota.plan(connection, account_id)).features.max_stored_mb
    if allowed == UNLIMITED:
        return
    await storage.lock(connection, account_id)
    _refuse_beyond(allowed, await storage.stored(connection, account_id) + growth, quota.upgrade_url)


async def require_room(db: DB, quota: Quota, standing: Standing, *, growth: int = 1) -> None:
    """Raise PlanUpgradeRequired if the account cannot store `growth` more bytes.

    Call it before expensive work whose result has to be stored.
    """
    allowed = standing.plan.features.max_stored_mb
    if allowed != UNLIMITED:
        _refuse_beyond(allowed, await storage.stored(db, standing.account_id) + growth, quota.upgrade_url)


def _refuse_beyond(allowed: int, wanted: int, upgrade_url: str) -> None:
    if wanted > allowed * MEGABYTE:
        raise PlanUpgradeRequired(
            f"Your plan stores up to {allowed:,} MB of text and pictures. Delete a book, or upgrade to a larger plan.",
            requested=-(-wanted // MEGABYTE),
            max_allowed=allowed,
            upgrade_url=upgrade_url,
        )
