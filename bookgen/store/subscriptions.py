"""Subscriptions: one row per account, created with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from bookgen.models import Plan, Subscription, SubscriptionStatus
from bookgen.store import plans
from bookgen.store.database import DB
from bookgen.store.rows import mapper

_subscription = mapper(Subscription, id=itemgetter("subscription_id"), plan=plans.plan_of)


@dataclass(frozen=True, slots=True)
class Entitlement:
    """The facts that decide which plan an account has. `subscription`: the account's subscription, if it has one.

    `standard`: the plan that applies if no subscription does. Its periods are counted from `signed_up_at`.
    """

    signed_up_at: datetime
    subscription: Subscription | None
    standard: Plan


FIND = f"""
    SELECT a.created_at AS signed_up_at,
           s.id AS subscription_id, s.account_id, s.status, s.billing_interval, s.anchor, s.current_period_end,
           s.past_due_since, s.cancel_at_period_end, s.processor_id,
           (SELECT n.slug FROM plan n WHERE n.id = s.next_plan_id) AS next_plan, s.next_interval,
           {plans.COLUMNS}, coalesce(p.id = s.plan_id, false) AS subscribed
      FROM account a
      LEFT JOIN subscription s ON s.account_id = a.id
      JOIN plan p ON p.id = s.plan_id OR p.slug = $2
     WHERE a.id = $1
"""


async def find(db: DB, account_id: int) -> Subscription | None:
    row = await db.fetchrow(FIND, account_id, None)
    return row and _subscription(row)


async def find_entitlement(db: DB, account_id: int, standard: str) -> Entitlement | None:
    """The account's entitlement, or None if there is no such account. `standard`: the slug of the standard plan."""
    rows = await db.fetch(FIND, account_id, standard)
    if not rows:
        return None
    subscription = next((_subscription(row) for row in rows if row["subscribed"]), None)
    plan = next(plans.plan_of(row) for row in rows if row["slug"] == standard)
    return Entitlement(rows[0]["signed_up_at"], subscription, plan)


LOCK = "SELECT id FROM subscription WHERE account_id = $1 FOR UPDATE"


async def lock(connection: DB, account_id: int) -> None:
    """Lock the account's subscription until the transaction ends.

    Every change of the account's plan, credits or usage needs this lock.
    """
    await connection.fetchval(LOCK, account_id)


SET_PLAN = """
    UPDATE subscription
       SET plan_id = (SELECT id FROM plan WHERE slug = $2), status = 'active', billing_interval = NULL,
           current_period_end = NULL, past_due_since = NULL, cancel_at_period_end = false, processor_id = NULL,
           next_plan_id = NULL, next_interval = NULL, updated_at = now()
     WHERE account_id = $1
"""


async def set_plan(connection: DB, account_id: int, slug: str) -> None:
    """Set a plan that an operator grants without payment. The account's monthly periods do not change."""
    await connection.execute(SET_PLAN, account_id, slug)


SUBSCRIBE = """
    UPDATE subscription
       SET plan_id = p.id, status = $3, billing_interval = $4, anchor = $5, current_period_end = $6,
           past_due_since = $7, cancel_at_period_end = $8, processor_id = $9,
           next_plan_id = (SELECT n.id FROM plan n WHERE n.slug = $10), next_interval = $11, updated_at = now()
      FROM plan p
     WHERE account_id = $1 AND p.slug = $2
    RETURNING true
"""


async def subscribe(
    connection: DB,
    account_id: int,
    slug: str,
    *,
    status: SubscriptionStatus,
    interval: str,
    anchor: datetime,
    period_end: datetime,
    past_due_since: datetime | None,
    cancel_at_period_end: bool,
    processor_id: str,
    then: tuple[str, str] | None,
) -> bool:
    """Set the account's plan and its state as the payment processor reports them. Returns False for an unknown plan.

    `anchor`: when the first month began, from which the monthly periods are counted. `then`: slug and interval of the
    plan that follows at the end of the paid period; None if no change is scheduled.
    """
    values = (status, interval, anchor, period_end, past_due_since, cancel_at_period_end, processor_id)
    return bool(await connection.fetchval(SUBSCRIBE, account_id, slug, *values, *(then or (None, None))))


CANCEL = """
    UPDATE subscription SET status = 'canceled', next_plan_id = NULL, next_interval = NULL, updated_at = now()
     WHERE account_id = $1 AND processor_id IS NOT NULL AND status <> 'canceled'
"""


async def cancel(connection: DB, account_id: int) -> None:
    """Mark the subscription as canceled. The period already paid for remains usable."""
    await connection.execute(CANCEL, account_id)
