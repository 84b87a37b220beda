"""One process of the service reconciles payments each night."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bookgen.billing.checkout import ReturnUrls
from bookgen.billing.nightly import LEASE, NightlyReconcile, next_night
from bookgen.errors import Unavailable
from bookgen.store import credits, reconciliation, subscriptions

NOWHERE = ReturnUrls()


@pytest.fixture
async def open_nightly(pool, open_payments, clock):
    """Returns a new nightly job, as in a separate process. The night is due."""
    await reconciliation.plan(pool, clock())
    return lambda: NightlyReconcile(pool, open_payments().reconciliation(), clock)


async def due_at(pool):
    return await pool.fetchval("SELECT due_at FROM reconciliation")


async def test_the_nightly_reconcile_repairs_what_lost_events_left_wrong(
    pool, quota, payments, stripe, clock, make_account, deliver, open_nightly
):
    account = await make_account()
    plan = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.pay(plan.session_id)
    await deliver()
    pack = await payments.buy_credits(account, "five-pack", NOWHERE)
    stripe.pay(pack.session_id)
    stripe.cancel(stripe.subscription_of(plan.session_id), reason="payment_failed")

    assert await open_nightly().reconcile_if_due()

    assert await credits.balance(pool, account) == 5
    assert (await subscriptions.find(pool, account)).status == "canceled"
    assert (await quota.plan(pool, account)).slug == "free"
    assert await due_at(pool) == next_night(clock())


async def test_one_process_reconciles_and_only_once_a_night(stripe, clock, open_nightly):
    processes = [open_nightly() for _ in range(4)]

    at_once = await asyncio.gather(*(each.reconcile_if_due() for each in processes))
    later = await processes[0].reconcile_if_due()
    clock.now = next_night(clock())
    next_one = await processes[1].reconcile_if_due()

    assert (sorted(at_once), later, next_one) == ([False, False, False, True], False, True)


async def test_an_unfinished_reconcile_is_repeated_after_its_lease(
    pool, payments, stripe, clock, make_account, open_nightly
):
    account = await make_account()
    pack = await payments.buy_credits(account, "single", NOWHERE)
    stripe.pay(pack.session_id)
    stripe.wire.faults.extend([503, 503, 503])

    with pytest.raises(Unavailable):
        await open_nightly().reconcile_if_due()
    too_early = await open_nightly().reconcile_if_due()
    clock.now += LEASE
    done = await open_nightly().reconcile_if_due()

    assert (too_early, done) == (False, True)
    assert await credits.balance(pool, account) == 1


async def test_an_unreadable_subscription_does_not_stop_the_others(
    pool, quota, payments, stripe, make_account, open_nightly
):
    first, second = await make_account(), await make_account()
    for account in (first, second):
        stripe.pay((await payments.buy_plan(account, "starter", "monthly", NOWHERE)).session_id)
    _, of_the_first = stripe._all("subscription")
    of_the_first["status"] = "hibernating"

    assert await open_nightly().reconcile_if_due()

    assert (await quota.plan(pool, first)).slug == "free"
    assert (await quota.plan(pool, second)).slug == "starter"


@pytest.mark.parametrize(("hour", "day"), [(2, 5), (3, 6), (23, 6)])
def test_the_next_reconcile_is_at_three(hour, day):
    assert next_night(datetime(2026, 3, 5, hour, 0, 0, 1, tzinfo=UTC)) == datetime(2026, 3, day, 3, tzinfo=UTC)
    assert next_night(datetime(2026, 3, 5, 3, tzinfo=UTC)) == datetime(2026, 3, 6, 3, tzinfo=UTC)
    assert next_night(datetime(2026, 3, 5, 3, tzinfo=UTC) - timedelta(microseconds=1)).day == 5
