"""Changes of a paid plan: upgrades at once, downgrades at the end of the paid period, and calls that fail."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from bookgen.billing import processor
from bookgen.billing.checkout import ReturnUrls, Upgraded
from bookgen.errors import Conflict, QuotaExceeded, Unavailable
from bookgen.store import subscriptions

NOWHERE = ReturnUrls()
DONE = "https://books.test/checkout/success/"
MONTH = timedelta(days=28)


@pytest.fixture
def subscribe(payments, stripe, deliver):
    """Subscribe an account. Returns the processor's subscription."""

    async def subscribe(account_id, plan="pro", interval="monthly"):
        session = await payments.buy_plan(account_id, plan, interval, NOWHERE)
        stripe.pay(session.session_id)
        await deliver()
        return stripe.objects[stripe.subscription_of(session.session_id)]

    return subscribe


@pytest.fixture
def planned(pool):
    """The plan that the account changes to at the end of its paid period."""

    async def planned(account_id):
        present = await subscriptions.find(pool, account_id)
        return present.next_plan and (present.next_plan, present.next_interval)

    return planned


@pytest.fixture
def schedules(stripe):
    return lambda: [each["status"] for each in stripe._all("subscription_schedule")]


async def test_a_downgrade_credits_nothing_while_books_of_the_larger_plan_are_running(
    pool, quota, payments, stripe, clock, make_account, make_book, subscribe, deliver
):
    account = await make_account()
    subscription = await subscribe(account, "starter")
    await payments.buy_plan(account, "pro", "monthly", NOWHERE)
    async with pool.acquire() as connection, connection.transaction():
        for _ in range(7):
            standing = await quota.standing(connection, account)
            book = await make_book(account, 140_000)
            await quota.hold_book(connection, standing, book, uuid4(), 140_000)

    changed = await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    period_end = (await subscriptions.find(pool, account)).current_period_end
    assert changed == Upgraded(DONE, period_end)
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["30.00", "19.00"]
    assert (await quota.plan(pool, account)).slug == "pro"

    clock.now = period_end + timedelta(minutes=1)
    stripe.renew(subscription["id"])
    await deliver()

    assert [invoice.amount for invoice in await payments.invoices(account)] == ["19.00", "30.00", "19.00"]
    assert (await quota.plan(pool, account)).slug == "starter"


async def test_switching_from_yearly_to_monthly_waits_until_the_paid_year_ends(
    pool, payments, make_account, subscribe, planned
):
    account = await make_account()
    await subscribe(account, "starter", "yearly")

    changed = await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert changed.begins_at == (await subscriptions.find(pool, account)).current_period_end
    assert await planned(account) == ("starter", "monthly")
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["190.00"]


async def test_a_yearly_downgrade_waits_as_well(payments, make_account, subscribe, planned):
    account = await make_account()
    await subscribe(account, "pro", "monthly")

    await payments.buy_plan(account, "starter", "yearly", NOWHERE)

    assert await planned(account) == ("starter", "yearly")
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["49.00"]


async def test_a_plan_sold_by_the_year_only_is_compared_by_the_month(pool, payments, make_account, subscribe, planned):
    await pool.execute("UPDATE plan SET price_monthly = 0, price_yearly = 588 WHERE slug = 'pro'")
    account = await make_account()
    await subscribe(account, "pro", "yearly")

    await payments.buy_plan(account, "starter", "yearly", NOWHERE)

    assert await planned(account) == ("starter", "yearly")


async def test_a_plan_of_the_same_price_begins_at_once(pool, payments, make_account, subscribe, planned):
    await pool.execute("UPDATE plan SET price_monthly = 49 WHERE slug = 'starter'")
    account = await make_account()
    await subscribe(account, "pro", "monthly")

    assert await payments.buy_plan(account, "starter", "monthly", NOWHERE) == Upgraded(DONE)

    assert ((await subscriptions.find(pool, account)).plan.slug, await planned(account)) == ("starter", None)


async def test_a_plan_with_a_price_from_the_dashboard_is_changed_at_once(
    pool, payments, make_account, subscribe, planned
):
    account = await make_account()
    subscription = await subscribe(account, "pro", "monthly")
    subscription["items"]["data"][0]["price"] = {**subscription["items"]["data"][0]["price"], "metadata": {}}

    assert await payments.buy_plan(account, "starter", "monthly", NOWHERE) == Upgraded(DONE)

    assert ((await subscriptions.find(pool, account)).plan.slug, await planned(account)) == ("starter", None)


async def test_choosing_the_current_plan_cancels_the_planned_change(
    payments, make_account, subscribe, planned, schedules
):
    account = await make_account()
    subscription = await subscribe(account)
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert await payments.buy_plan(account, "pro", None, NOWHERE) == Upgraded(DONE)

    assert (await planned(account), schedules(), subscription["schedule"]) == (None, ["released"], None)
    with pytest.raises(Conflict, match="already"):
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)


async def test_an_upgrade_releases_the_schedule_and_applies_at_once(
    quota, pool, payments, stripe, make_account, subscribe, planned, schedules
):
    account = await make_account()
    await subscribe(account, "starter", "yearly")
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert await payments.buy_plan(account, "pro", "yearly", NOWHERE) == Upgraded(DONE)

    assert (await planned(account), schedules()) == (None, ["released"])
    [released] = [form for _, path, form in stripe.wire.calls if path.endswith("/release")]
    assert released == {"preserve_cancel_date": "true"}
    assert await pool.fetchval("SELECT status FROM checkout ORDER BY id DESC LIMIT 1") == "paid"
    assert (await quota.plan(pool, account)).slug == "pro"
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["300.00", "190.00"]


async def test_another_downgrade_replaces_the_planned_one(
    payments, stripe, make_account, subscribe, planned, schedules
):
    account = await make_account()
    await subscribe(account, "pro", "yearly")
    await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert (await planned(account), schedules()) == (("starter", "monthly"), ["active"])
    [schedule] = stripe._all("subscription_schedule")
    price = stripe.objects[schedule["phases"][1]["items"][0]["price"]]
    assert price["lookup_key"] == "bookgen_plan_starter_monthly"


async def test_choosing_a_downgrade_twice_plans_it_once(payments, stripe, make_account, subscribe):
    account = await make_account()
    await subscribe(account)

    first = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    again = await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert first == again
    assert len([path for method, path, _ in stripe.wire.calls if method == "POST" and "schedules/" in path]) == 1


@pytest.mark.parametrize("cancel", ["cancel", "cancel_later"])
async def test_a_cancellation_removes_the_planned_change(
    payments, stripe, make_account, subscribe, planned, deliver, cancel
):
    account = await make_account()
    subscription = await subscribe(account)
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    getattr(stripe, cancel)(subscription["id"])
    await deliver()

    assert (await planned(account), subscription["schedule"]) == (None, None)


async def test_a_downgrade_undoes_a_cancellation(pool, payments, stripe, make_account, subscribe, deliver, planned):
    account = await make_account()
    subscription = await subscribe(account)
    stripe.cancel_later(subscription["id"])
    await deliver()

    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert await planned(account) == ("starter", "monthly")
    assert not (await subscriptions.find(pool, account)).cancel_at_period_end


async def test_a_schedule_ends_with_its_change_and_the_plan_can_be_cancelled(
    pool, payments, stripe, clock, make_account, subscribe, planned, deliver, schedules
):
    account = await make_account()
    subscription = await subscribe(account)
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    clock.now += MONTH

    stripe.renew(subscription["id"])
    await deliver()

    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, await planned(account)) == ("starter", None)
    assert (schedules(), subscription["schedule"]) == (["released"], None)


async def test_after_the_change_the_allowance_of_the_smaller_plan_applies(
    pool, quota, payments, stripe, clock, make_account, make_book, subscribe, deliver
):
    account = await make_account()
    subscription = await subscribe(account)
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    clock.now += MONTH
    stripe.renew(subscription["id"])
    await deliver()

    async with pool.acquire() as connection, connection.transaction():
        standing = await quota.standing(connection, account)
        for _ in range(5):
            await quota.hold_book(connection, standing, await make_book(account), uuid4(), 10_000)
        with pytest.raises(QuotaExceeded):
            await quota.hold_book(connection, standing, await make_book(account), uuid4(), 10_000)


def test_a_schedule_whose_change_has_happened_plans_nothing_more():
    phases = [{"start_date": 1, "end_date": 2}, {"start_date": 2, "end_date": 3}]
    found = {
        "id": "sub_sched_1",
        "created": 1,
        "status": "active",
        "end_behavior": "release",
        "phases": phases,
        "metadata": {"bookgen": "plan:starter:monthly"},
    }

    before, after = (processor.schedule({**found, "current_phase": phase}) for phase in phases)
    not_begun = processor.schedule({**found, "status": "not_started", "current_phase": None})

    assert (before.next_tag, before.is_idle) == ("plan:starter:monthly", False)
    assert not_begun.next_tag == "plan:starter:monthly"
    assert (after.next_tag, after.is_idle) == (None, True)


# --- calls that fail halfway --------------------------------------------------------------------------


@pytest.fixture
def lose_phases(payments, stripe, subscribe):
    """A downgrade whose second call failed, so that an empty schedule is left at the processor."""

    async def lose_phases(account_id):
        subscription = await subscribe(account_id)
        # Read, price looked up, product and price created, schedule created, and three tries to send the phases.
        stripe.wire.faults.extend([None] * 5 + [503] * 3)
        with pytest.raises(Unavailable):
            await payments.buy_plan(account_id, "starter", "monthly", NOWHERE)
        assert stripe.wire.calls[-1][2]["metadata"] == {"bookgen": "plan:starter:monthly"}
        return subscription

    return lose_phases


async def test_a_half_finished_schedule_is_not_shown_and_is_completed_on_a_retry(
    payments, make_account, lose_phases, deliver, planned, schedules
):
    account = await make_account()
    await lose_phases(account)
    await deliver()
    halfway = await planned(account), schedules()

    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert halfway == (None, ["active"])
    assert (await planned(account), schedules()) == (("starter", "monthly"), ["active"])


async def test_a_half_finished_schedule_affects_no_renewal_and_no_cancellation(
    pool, payments, stripe, clock, make_account, lose_phases, deliver, schedules
):
    account = await make_account()
    subscription = await lose_phases(account)
    clock.now += timedelta(minutes=20)

    await payments.portal_url(account)

    assert (schedules(), subscription["schedule"]) == (["released"], None)
    stripe.renew(subscription["id"])
    await deliver()
    assert (await subscriptions.find(pool, account)).plan.slug == "pro"


async def test_a_planned_change_whose_response_was_lost_appears_with_its_event(
    payments, stripe, make_account, subscribe, planned, deliver
):
    account = await make_account()
    await subscribe(account)
    # Read, price looked up, product and price created, schedule created, phases sent, and three tries to read.
    stripe.wire.faults.extend([None] * 6 + [503] * 3)
    with pytest.raises(Unavailable):
        await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    before = await planned(account)

    await deliver(*[each for each in stripe.events if each["type"] == "subscription_schedule.updated"])

    assert (before, await planned(account)) == (None, ("starter", "monthly"))


async def test_reconcile_finds_a_planned_change_whose_event_was_lost(
    payments, stripe, clock, make_account, subscribe, planned
):
    account = await make_account()
    subscription = await subscribe(account)
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe._end(stripe.objects[subscription["schedule"]], "released")

    said = [line async for line in payments.reconciliation().reconcile(mend=True, since=timedelta(9), now=clock())]

    assert said == [f"{subscription['customer']}: next plan is starter monthly, should be None"]
    assert await planned(account) is None


async def test_a_refused_upgrade_leaves_the_planned_change_as_it_was(
    payments, stripe, make_account, subscribe, planned, schedules
):
    account = await make_account()
    await subscribe(account, "starter", "yearly")
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    # Read, released, price looked up, product and price created, and changed.
    stripe.wire.faults.extend([None] * 5 + [402])

    with pytest.raises(Conflict, match="declined"):
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    assert (await planned(account), schedules()) == (("starter", "monthly"), ["active", "released"])


async def test_an_upgrade_whose_response_was_lost_does_not_restore_the_planned_change(
    quota, pool, payments, stripe, make_account, subscribe, planned, schedules
):
    account = await make_account()
    await subscribe(account, "starter", "yearly")
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.wire.faults.extend([None] * 5 + ["lose"] * 3)

    with pytest.raises(Unavailable):
        await payments.buy_plan(account, "pro", "yearly", NOWHERE)

    assert (await quota.plan(pool, account)).slug == "pro"
    assert (await planned(account), schedules()) == (None, ["released"])
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["300.00", "190.00"]


async def test_an_upgrade_awaiting_payment_says_that_the_planned_change_is_cancelled(
    payments, stripe, make_account, subscribe, planned
):
    account = await make_account()
    await subscribe(account, "starter", "yearly")
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.declines = True

    with pytest.raises(Conflict, match="scheduled for the end of the period has been canceled") as refused:
        await payments.buy_plan(account, "pro", "yearly", NOWHERE)

    assert str(refused.value.details["payment_url"]).startswith("https://invoice.stripe.test/")
    assert await planned(account) is None
