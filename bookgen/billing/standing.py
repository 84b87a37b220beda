"""What an account is entitled to at a given moment: its plan and the period of its allowances."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from bookgen.billing.periods import Period, period_at
from bookgen.billing.plan_features import FREE, SELF_HOSTED
from bookgen.errors import must_exist
from bookgen.models import OwnedAddon, Plan, Subscription, SubscriptionStatus
from bookgen.store import subscriptions
from bookgen.store.database import DB

PAST_DUE_GRACE = timedelta(days=7)
# How long a subscription continues after its paid period without an event about its renewal or end.
RENEWAL_GRACE = timedelta(days=3)
MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Standing:
    """What an account may use now: its plan, and the period for which the plan's allowances are counted.

    `current_period_end`: the end of the paid time or, without a subscription, of `period`.
    """

    account_id: int
    plan: Plan
    period: Period
    current_period_end: datetime


async def find_standing(db: DB, account_id: int, now: datetime, *, billing: bool, renewal_grace: timedelta) -> Standing:
    found = must_exist(await subscriptions.find_entitlement(db, account_id, standard_plan(billing=billing)))
    subscription = found.subscription
    if billing and subscription and is_entitled(subscription, now, renewal_grace):
        period = _period(subscription, now)
        return Standing(account_id, subscription.plan, period, subscription.current_period_end or period.end)
    period = period_at(found.signed_up_at, now)
    return Standing(account_id, found.standard, period, period.end)


def _period(subscription: Subscription, now: datetime) -> Period:
    """The period of the allowances. While a payment is overdue, the last paid period goes on, with no new grants."""
    period, unpaid = period_at(subscription.anchor, now), subscription.past_due_since
    if subscription.status is not SubscriptionStatus.PAST_DUE or unpaid is None:
        return period
    paid = period_at(subscription.anchor, max(subscription.anchor, unpaid - MOMENT))
    return Period(paid.start, period.end)


def standard_plan(*, billing: bool) -> str:
    """The slug of the plan of an account that has no subscription in force."""
    return FREE if billing else SELF_HOSTED


def is_entitled(owned: Subscription | OwnedAddon, now: datetime, renewal_grace: timedelta) -> bool:
    """Whether the account's subscription or add-on is in force now."""
    return entitled(owned.status, owned.current_period_end, owned.past_due_since, now, renewal_grace)


def entitled(
    status: SubscriptionStatus,
    period_end: datetime | None,
    past_due_since: datetime | None,
    now: datetime,
    renewal_grace: timedelta,
) -> bool:
    """Whether a subscription in this state is in force. `period_end` None: an operator granted it without an end."""
    match status:
        case SubscriptionStatus.ACTIVE | SubscriptionStatus.TRIALING:
            return period_end is None or now < period_end + renewal_grace
        case SubscriptionStatus.PAST_DUE:
            return past_due_since is not None and now < past_due_since + PAST_DUE_GRACE
        case SubscriptionStatus.CANCELED:
            return period_end is not None and now < period_end
        case SubscriptionStatus.INCOMPLETE:
            return False


def is_live(owned: Subscription | OwnedAddon) -> bool:
    """Whether the processor still bills the subscription or add-on. Then it must be changed, not bought again."""
    return owned.processor_id is not None and owned.status in (
        SubscriptionStatus.ACTIVE,
        SubscriptionStatus.TRIALING,
        SubscriptionStatus.PAST_DUE,
    )
