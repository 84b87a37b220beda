"""Uses of an add-on: held when a production starts, counted when it completes."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from bookgen.billing.addons import hold_use, uses_remaining
from bookgen.billing.checkout import ReturnUrls
from bookgen.errors import PlanUpgradeRequired
from bookgen.store import addons

NOWHERE = ReturnUrls()
SLUG = "automated-production"


@pytest.fixture
def buy(payments, stripe, deliver):
    async def buy(account, billing_type):
        session = await payments.buy_addon(account, SLUG, billing_type, NOWHERE)
        stripe.pay(session.session_id)
        await deliver()
        return session.session_id

    return buy


@pytest.fixture
def hold(pool, clock):
    async def hold(account):
        run = uuid4()
        async with pool.acquire() as connection, connection.transaction():
            await hold_use(connection, account, SLUG, run, 1, clock(), "https://books.test/plans")
        return run

    return hold


@pytest.fixture
def remaining(pool, quota, clock):
    async def remaining(account):
        period = await quota.period(pool, account)
        owned = await addons.owned(pool, account, period.start, period.end)
        return [(each.billing_type, uses_remaining(each, clock()), each.used_this_period) for each in owned]

    return remaining


async def test_without_the_addon_a_production_asks_for_it(make_account, hold):
    with pytest.raises(PlanUpgradeRequired) as refused:
        await hold(await make_account())

    assert refused.value.details["addon"] == SLUG


async def test_a_use_is_held_then_counted_or_given_back(pool, clock, make_account, buy, hold, remaining):
    account = await make_account()
    await buy(account, "per_use")
    run = await hold(account)
    with pytest.raises(PlanUpgradeRequired):
        await hold(account)

    await addons.release_use(pool, run)
    run = await hold(account)
    await addons.count_use(pool, run, clock())
    await addons.release_use(pool, run)

    assert await remaining(account) == [("per_use", 0, 1)]


async def test_an_addon_by_the_month_is_used_before_single_uses(pool, clock, make_account, buy, hold, remaining):
    account = await make_account()
    await buy(account, "per_use")
    await buy(account, "monthly")

    await addons.count_use(pool, await hold(account), clock())

    assert await remaining(account) == [("monthly", -1, 1), ("per_use", 1, 0)]


async def test_a_canceled_month_ends_with_what_was_paid(stripe, clock, make_account, buy, deliver, remaining):
    account = await make_account()
    stripe.cancel(stripe.subscription_of(await buy(account, "monthly")))
    await deliver()

    assert await remaining(account) == [("monthly", -1, 0)]
    clock.now += timedelta(days=31)
    assert await remaining(account) == [("monthly", 0, 0)]


async def test_a_refunded_use_is_gone(stripe, make_account, buy, deliver, remaining):
    account = await make_account()
    session = await buy(account, "per_use")

    stripe.refund(session)
    await deliver()

    assert await remaining(account) == [("per_use", 0, 0)]
