"""Uses of an add-on: held when a production starts, counted when it completes."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from bookgen.billing.addons import CHILDRENS_BOOK, count_use, hold_use, release_use, require, uses_remaining
from bookgen.billing.checkout import ReturnUrls
from bookgen.billing.quota import Quota
from bookgen.errors import PlanUpgradeRequired
from bookgen.store import addons

NOWHERE = ReturnUrls()
SLUG = "automated-production"


@pytest.fixture
def buy(payments, stripe, deliver):
    async def buy(account, billing_type, slug=SLUG):
        session = await payments.buy_addon(account, slug, billing_type, NOWHERE)
        stripe.pay(session.session_id)
        await deliver()
        return session.session_id

    return buy


@pytest.fixture
def hold(pool, quota):
    async def hold(account, book=1, run=None):
        run = run or uuid4()
        async with pool.acquire() as connection, connection.transaction():
            await hold_use(connection, quota, await quota.standing(connection, account), SLUG, run, book)
        return run

    return hold


@pytest.fixture
def release(pool, quota):
    async def release(account, run):
        async with pool.acquire() as connection, connection.transaction():
            await release_use(connection, quota, account, run)

    return release


@pytest.fixture
def remaining(pool, quota, clock):
    async def remaining(account):
        period = await quota.period(pool, account)
        owned = await addons.owned(pool, account, period.start, period.end, clock())
        return [
            (each.billing_type, uses_remaining(each, clock(), quota.renewal_grace), each.used_this_period)
            for each in owned
        ]

    return remaining


A_PAID_RUN = """
    INSERT INTO run (id, book_id, account_id, status, mode, total, written) VALUES ($1, $2, $3, 'stopped', 'full', 3, 1)
"""


async def test_a_production_without_the_addon_is_refused_with_the_addons_name(make_account, hold):
    with pytest.raises(PlanUpgradeRequired) as refused:
        await hold(await make_account())

    assert refused.value.details["addon"] == SLUG


async def test_a_plan_that_includes_the_addons_consumes_no_use(pool, make_account):
    account, run = await make_account("self-hosted"), uuid4()

    for quota in (Quota(billing=True), Quota(billing=False)):
        await hold_use(pool, quota, await quota.standing(pool, account), SLUG, run, 1)

    assert await pool.fetchval("SELECT count(*) FROM addon_use WHERE run_id = $1", run) == 0


async def test_a_use_is_held_and_then_counted_or_given_back(pool, quota, make_account, buy, hold, release, remaining):
    account = await make_account()
    await buy(account, "per_use")
    run = await hold(account)
    assert await hold(account, run=run) == run, "a failed run that is resumed holds what it has"
    with pytest.raises(PlanUpgradeRequired):
        await hold(account, book=2)

    await release(account, run)
    run = await hold(account)
    await count_use(pool, quota, run)
    await count_use(pool, quota, run)
    await release(account, run)

    assert await remaining(account) == [("per_use", 0, 1)]


async def test_a_use_on_which_something_was_spent_stays_with_its_book_until_the_period_ends(
    pool, clock, make_account, make_book, buy, hold, release, remaining
):
    account = await make_account()
    book = await make_book(account)
    await buy(account, "per_use")
    first = await hold(account, book)
    await pool.execute(A_PAID_RUN, first, book, account)
    await release(account, first)

    with pytest.raises(PlanUpgradeRequired):
        await hold(account, await make_book(account))
    await release(account, await hold(account, book))
    assert await remaining(account) == [("per_use", 0, 0)], "the second run paid nothing, but the first had"

    clock.now += timedelta(days=31)
    assert await remaining(account) == [("per_use", 1, 0)]
    await hold(account, await make_book(account))


async def test_a_monthly_addon_is_used_before_single_uses(pool, quota, make_account, buy, hold, remaining):
    account = await make_account()
    await buy(account, "per_use")
    await buy(account, "monthly")

    await count_use(pool, quota, await hold(account))

    assert await remaining(account) == [("monthly", -1, 1), ("per_use", 1, 0)]


@pytest.mark.parametrize(("bought", "needed"), [(SLUG, CHILDRENS_BOOK), (CHILDRENS_BOOK, SLUG)])
async def test_an_addon_does_not_pay_for_another(pool, quota, make_account, buy, bought, needed):
    account = await make_account()
    await buy(account, "monthly", bought)
    standing = await quota.standing(pool, account)

    assert (await require(pool, quota, standing, bought)).addon.slug == bought
    with pytest.raises(PlanUpgradeRequired):
        await require(pool, quota, standing, needed)


async def test_a_cancelled_monthly_addon_ends_with_the_paid_month(stripe, clock, make_account, buy, deliver, remaining):
    account = await make_account()
    stripe.cancel(stripe.subscription_of(await buy(account, "monthly")))
    await deliver()

    assert await remaining(account) == [("monthly", -1, 0)]
    clock.now += timedelta(days=31)
    assert await remaining(account) == [("monthly", 0, 0)]


async def test_an_addon_without_renewal_news_ends_a_few_days_after_the_paid_period(
    clock, make_account, buy, remaining, hold
):
    account = await make_account()
    await buy(account, "monthly")

    clock.now += timedelta(days=30)
    assert await remaining(account) == [("monthly", -1, 0)]
    clock.now += timedelta(days=3)
    assert await remaining(account) == [("monthly", 0, 0)]
    with pytest.raises(PlanUpgradeRequired):
        await hold(account)


async def test_a_refunded_use_is_removed(stripe, make_account, buy, deliver, remaining):
    account = await make_account()
    session = await buy(account, "per_use")

    stripe.refund(session)
    await deliver()

    assert await remaining(account) == [("per_use", 0, 0)]


async def test_refunding_a_spent_use_leaves_the_next_purchase_whole(
    pool, quota, stripe, make_account, buy, hold, deliver, remaining
):
    account = await make_account()
    session = await buy(account, "per_use")
    await count_use(pool, quota, await hold(account))
    stripe.refund(session)
    await deliver()
    assert await remaining(account) == [("per_use", 0, 1)]

    await buy(account, "per_use")

    assert await remaining(account) == [("per_use", 1, 1)]
    await hold(account, book=2)
    with pytest.raises(PlanUpgradeRequired):
        await hold(account, book=3)


async def test_refunding_one_of_two_purchases_removes_its_remaining_uses_only(
    pool, quota, stripe, make_account, buy, hold, deliver, remaining
):
    account = await make_account()
    used, unused = await buy(account, "per_use"), await buy(account, "per_use")
    await count_use(pool, quota, await hold(account))

    stripe.refund(used)
    await deliver()
    assert await remaining(account) == [("per_use", 1, 1)]

    stripe.refund(unused)
    await deliver()
    assert await remaining(account) == [("per_use", 0, 1)]


async def test_a_use_held_during_the_refund_of_its_purchase_is_not_free_afterwards(
    stripe, make_account, buy, hold, release, deliver, remaining
):
    account = await make_account()
    session = await buy(account, "per_use")
    run = await hold(account)
    stripe.refund(session)
    await deliver()

    await release(account, run)

    assert await remaining(account) == [("per_use", 0, 0)]


async def test_a_refund_also_removes_a_use_kept_for_a_book(pool, stripe, make_account, buy, hold, deliver):
    account = await make_account()
    session = await buy(account, "per_use")
    run = await hold(account)
    await pool.execute("UPDATE addon_use SET kept_until = now() + interval '1 year' WHERE run_id = $1", run)
    stripe.refund(session)
    await deliver()

    with pytest.raises(PlanUpgradeRequired):
        await hold(account)
