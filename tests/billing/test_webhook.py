"""Events from the processor: applied once, however often, late, in whatever order or by whomever they are sent."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from bookgen.accounts import proof
from bookgen.billing.checkout import Payments, ReturnUrls
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.errors import InvalidInput, QuotaExceeded, Unavailable
from bookgen.models import Allowance
from bookgen.store import addons, credits, subscriptions
from tests.billing.conftest import SIGN_UP
from tests.fakes.stripe_server import NEXT_WEBHOOK_SECRET, WEBHOOK_SECRET

NOWHERE = ReturnUrls()


@pytest.fixture
def buy_credits(payments, stripe):
    async def buy(account_id, package="five-pack", **paying):
        session = await payments.buy_credits(account_id, package, NOWHERE)
        stripe.pay(session.session_id, **paying)
        return session.session_id

    return buy


@pytest.fixture
def subscribe(payments, stripe):
    async def subscribe(account_id, plan="starter", interval="monthly"):
        session = await payments.buy_plan(account_id, plan, interval, NOWHERE)
        stripe.pay(session.session_id)
        return stripe.subscription_of(session.session_id)

    return subscribe


async def test_bought_credits_arrive_with_the_event_and_not_earlier(pool, make_account, buy_credits, deliver):
    account = await make_account()

    await buy_credits(account)
    before = await credits.wallet(pool, account)
    await deliver()

    after = await credits.wallet(pool, account)
    assert (before.balance, after.balance, after.total_purchased) == (0, 5, 5)
    newest = (await credits.transactions(pool, account, 20))[0]
    assert (newest.kind, newest.amount, newest.balance_after) == ("purchase", 5, 5)


@pytest.mark.parametrize("where", ["id", "type", "note"])
async def test_a_signed_event_with_a_null_character_is_refused(
    pool, make_account, payments, stripe, buy_credits, where
):
    await buy_credits(await make_account())
    event = {**stripe.events[-1], where: "a\x00b"}

    with pytest.raises(InvalidInput, match="U\\+0000"):
        await payments.receive(*stripe.delivery(event))


@pytest.mark.parametrize("slug", ["pro", "basic"])
async def test_the_end_of_a_paid_plan_leaves_a_plan_that_the_operator_granted(
    pool, quota, stripe, clock, make_account, subscribe, deliver, slug
):
    account = await make_account()
    await pool.execute("UPDATE plan SET slug = $1 WHERE slug = 'pro'", slug)
    paid = await subscribe(account, "starter")
    await deliver()
    await subscriptions.set_plan(pool, account, slug)
    clock.now += timedelta(days=40)

    stripe.cancel(paid)
    await deliver()

    assert (await quota.plan(pool, account)).slug == slug


async def test_an_operator_is_told_of_a_customer_who_pays_twice(stripe, make_account, subscribe, deliver):
    with capture_logs() as once:
        paid = stripe.objects[await subscribe(await make_account(), "starter")]
        await deliver()
    stripe._emit("customer.subscription.created", stripe._new("subscription", "sub", **{**paid, "id": "sub_again"}))

    with capture_logs() as twice:
        await deliver()

    told = ["subscribed_twice" in [each["event"] for each in logs] for logs in (once, twice)]
    assert told == [False, True]


async def test_an_escaped_backslash_before_u0000_is_ordinary_text(pool, make_account, buy_credits, deliver, stripe):
    account = await make_account()
    await buy_credits(account)

    await deliver(*({**event, "note": "a\\u0000b"} for event in stripe.events))

    assert await credits.balance(pool, account) == 5


async def test_twenty_concurrent_deliveries_have_one_effect(pool, payments, stripe, make_account, buy_credits):
    account = await make_account()
    await buy_credits(account)

    await asyncio.gather(*(payments.receive(*stripe.delivery(stripe.events[0])) for _ in range(20)))

    assert await credits.balance(pool, account) == 5
    assert await pool.fetchval("SELECT count(*) FROM credit_transaction") == 1


async def test_an_unpaid_session_gives_nothing_until_it_is_paid_for(pool, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    session = await buy_credits(account, delayed=True)
    await deliver()
    assert await credits.balance(pool, account) == 0

    stripe.settle_delayed(session, succeeds=True)
    await deliver()

    assert await credits.balance(pool, account) == 5


async def test_a_delayed_payment_that_fails_gives_nothing(pool, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    session = await buy_credits(account, delayed=True)

    stripe.settle_delayed(session, succeeds=False)
    await deliver()

    assert await credits.balance(pool, account) == 0
    assert await pool.fetchval("SELECT status FROM checkout") == "failed"


async def test_payment_is_checked_at_the_processor_and_not_believed_from_the_event(
    pool, payments, stripe, make_account
):
    account = await make_account()
    session = await payments.buy_credits(account, "twenty-pack", NOWHERE)
    stripe._emit("checkout.session.completed", {**stripe.objects[session.session_id], "payment_status": "paid"})

    await payments.receive(*stripe.delivery(stripe.events[-1]))

    assert await credits.balance(pool, account) == 0


async def test_a_payment_of_a_different_amount_gives_nothing(pool, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    session = await buy_credits(account)
    stripe.objects[session]["amount_total"] = 1

    await deliver()

    assert await credits.balance(pool, account) == 0
    assert await pool.fetchval("SELECT outcome FROM payment_event") == "paid 1 cents (usd), offered 3999 cents (usd)"


@pytest.mark.parametrize(
    ("change", "at", "secret"),
    [
        pytest.param(b"", 0, "whsec_wrong", id="wrong secret"),
        pytest.param(b" ", 0, None, id="altered body"),
        pytest.param(b"", -600, None, id="ten minutes old"),
        pytest.param(b"", 600, None, id="from the future"),
    ],
)
async def test_a_forged_or_stale_event_is_refused_and_changes_nothing(
    pool, payments, stripe, clock, make_account, buy_credits, change, at, secret
):
    account = await make_account()
    await buy_credits(account)
    body, header = stripe.delivery(stripe.events[0], at=clock().timestamp() + at, secret=secret)

    with pytest.raises(InvalidInput):
        await payments.receive(body + change, header)

    assert await credits.balance(pool, account) == 0
    assert await pool.fetchval("SELECT count(*) FROM payment_event") == 0


@pytest.mark.parametrize("header", ["", "t=,v1=", "v1=abc", "t=99999999999999999999,v1=abc", "t=١٢,v1=x", "nonsense"])
async def test_a_broken_signature_header_is_refused(payments, header):
    with pytest.raises(InvalidInput):
        await payments.receive(b"{}", header)


async def test_a_live_mode_event_is_ignored_with_a_test_key(pool, payments, stripe, make_account, buy_credits):
    account = await make_account()
    await buy_credits(account)

    with pytest.raises(InvalidInput):
        await payments.receive(*stripe.delivery({**stripe.events[0], "livemode": True}))

    assert await credits.balance(pool, account) == 0
    assert await pool.fetchval("SELECT count(*) FROM payment_event") == 0


@pytest.mark.parametrize(
    ("key", "mode"), [("sk_live_1", True), ("rk_live_1", True), ("sk_test_1", False), ("rk_test_1", False)]
)
async def test_the_events_of_the_mode_of_the_key_are_the_only_ones_accepted(pool, stripe, clock, key, mode):
    payments = Payments(
        pool, Gateway(key), public_url="https://books.test", webhook_secrets=[WEBHOOK_SECRET], clock=clock
    )
    stripe._emit("customer.tax_id.created", {"id": "txi_1"})

    await payments.receive(*stripe.delivery({**stripe.events[0], "livemode": mode}))
    with pytest.raises(InvalidInput, match="both be live or both be in test mode"):
        await payments.receive(*stripe.delivery({**stripe.events[0], "livemode": not mode}))


async def test_a_signature_that_is_not_text_is_refused(payments, clock):
    for header in (f"t={clock().timestamp():.0f},v1=\udcff", f"t={'9' * 5_000},v1=abc"):
        with pytest.raises(InvalidInput):
            await payments.receive(b"{}", header)


async def test_events_in_any_order_with_repetitions_have_the_same_outcome(
    pool, payments, stripe, clock, make_account, subscribe, buy_credits
):
    account = await make_account()
    first = await buy_credits(account)
    await buy_credits(account, "single")
    disputed = await buy_credits(account, "single")
    won = await buy_credits(account, "single")
    subscription = await subscribe(account)
    stripe.refund(first, 1600)
    stripe.dispute(disputed)
    stripe.dispute(won)
    stripe.close_dispute(won, "won")
    clock.now += timedelta(days=31)
    stripe.renew(subscription, paid=False)
    stripe.renew(subscription)
    random, ends = Random(6), set()

    for _ in range(25):
        events = [*stripe.events, *random.choices(stripe.events, k=4)]
        random.shuffle(events)
        await _forget(pool)
        for event in events:
            await payments.receive(*stripe.delivery(event))
        present = await subscriptions.find(pool, account)
        wallet = await credits.wallet(pool, account)
        ends.add(
            (present.plan.slug, present.status, present.current_period_end, wallet.balance, wallet.total_purchased)
        )

    assert ends == {("starter", "active", present.current_period_end, 5, 8)}


async def test_older_data_never_replaces_newer_data(pool, open_payments, stripe, make_account, subscribe, deliver):
    """Of two processes, one has read the plan before it ended and applies it afterwards."""
    account = await make_account()
    subscription = await subscribe(account)
    await deliver()
    held = asyncio.Event()
    stripe.wire.faults.append(held)
    stripe.renew(subscription)
    late = asyncio.create_task(open_payments().receive(*stripe.delivery(stripe.events[-1])))
    await stripe.wire.holding.wait()

    stripe.cancel(subscription, reason="payment_failed")
    await open_payments().receive(*stripe.delivery(stripe.events[-1]))
    held.set()
    await late

    assert (await subscriptions.find(pool, account)).status == "canceled"


async def test_a_refund_removes_the_remaining_credits(pool, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    session = await buy_credits(account)
    await deliver()

    stripe.refund(session)
    await deliver()

    wallet = await credits.wallet(pool, account)
    assert (wallet.balance, wallet.total_purchased) == (0, 5)
    newest = (await credits.transactions(pool, account, 20))[0]
    assert (newest.kind, newest.amount, newest.balance_after) == ("refund", -5, 0)


@pytest.mark.parametrize(("cents", "left"), [(399, 5), (400, 4), (1199, 4), (1200, 3), (3598, 1), (3600, 0)])
async def test_a_partial_refund_removes_the_nearest_number_of_credits(
    pool, stripe, make_account, buy_credits, deliver, cents, left
):
    account = await make_account()
    session = await buy_credits(account)
    await deliver()

    stripe.refund(session, cents)
    await deliver()

    assert await credits.balance(pool, account) == left


async def test_a_dispute_removes_credits_like_a_refund(pool, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    session = await buy_credits(account)

    stripe.dispute(session)
    await deliver()

    assert await credits.balance(pool, account) == 0


@pytest.mark.parametrize("lowers", [True, False])
@pytest.mark.parametrize("event", ["refund.failed", "charge.refund.updated"])
async def test_a_refund_that_fails_at_the_bank_returns_the_credits_it_removed(
    pool, payments, stripe, make_account, buy_credits, deliver, event, lowers
):
    account = await make_account()
    session = await buy_credits(account)
    stripe.refund(session, 800)
    stripe.refund(session)
    await deliver()

    stripe.fail_refund(session, lowers=lowers)
    await deliver(*(each for each in stripe.events if each["type"] == event))

    ledger = [(each.kind, each.amount, each.balance_after) for each in await credits.transactions(pool, account, 20)]
    assert ledger[0] == ("refund", 4, 4)
    assert await pool.fetchval("SELECT status FROM checkout") == "paid"
    assert [
        line async for line in payments.reconciliation().reconcile(mend=False, since=timedelta(9), now=SIGN_UP)
    ] == []


async def test_reconcile_finds_a_failed_refund_whose_event_was_lost(
    pool, payments, stripe, make_account, buy_credits, deliver
):
    account = await make_account()
    session = await buy_credits(account)
    stripe.refund(session)
    await deliver()
    stripe.fail_refund(session, lowers=False)

    said = [line async for line in payments.reconciliation().reconcile(mend=True, since=timedelta(9), now=SIGN_UP)]

    assert f"{session}: credits refunded is 5, should be 0" in said
    assert await credits.balance(pool, account) == 5


async def test_a_failed_refund_leaves_a_guests_pending_purchase_whole(pool, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    email = await pool.fetchval("SELECT email FROM account")
    session = await buy_credits(None, email=email)
    stripe.refund(session)
    await deliver()

    stripe.fail_refund(session)
    await deliver()
    await claim(pool, account, email)

    assert await credits.balance(pool, account) == 5


async def test_a_plan_that_cost_nothing_is_not_refunded(pool, payments, stripe, make_account, deliver):
    session = await payments.buy_plan(await make_account(), "starter", "monthly", NOWHERE)
    stripe.objects[session.session_id]["amount_total"] = 0

    stripe.pay(session.session_id)
    await deliver()

    assert await pool.fetchval("SELECT status FROM checkout") == "paid"


@pytest.mark.parametrize(("status", "balance"), [("won", 5), ("lost", 0)])
async def test_a_won_dispute_returns_what_it_removed(
    pool, payments, stripe, make_account, buy_credits, deliver, status, balance
):
    account = await make_account()
    session = await buy_credits(account)
    stripe.dispute(session)
    await deliver()

    stripe.close_dispute(session, status)
    await deliver()
    await deliver()

    assert await credits.balance(pool, account) == balance
    newest = (await credits.transactions(pool, account, 20))[0]
    assert (newest.kind, newest.amount, newest.balance_after) == ("refund", balance or -5, balance)
    assert await pool.fetchval("SELECT status FROM checkout") == ("paid" if balance else "refunded")
    assert [
        line async for line in payments.reconciliation().reconcile(mend=False, since=timedelta(9), now=SIGN_UP)
    ] == []


@pytest.mark.parametrize("status", ["warning_needs_response", "warning_closed"])
async def test_a_bank_inquiry_changes_nothing(pool, stripe, make_account, buy_credits, deliver, status):
    account = await make_account()
    session = await buy_credits(account)

    stripe.dispute(session, status=status)
    await deliver()

    assert await credits.balance(pool, account) == 5


async def test_a_won_dispute_returns_only_what_it_removed_and_no_spent_credit(
    pool, quota, stripe, make_account, make_book, buy_credits, deliver
):
    account = await make_account()
    session = await buy_credits(account)
    await deliver()
    book, run = await make_book(account, 45_000), uuid4()
    async with pool.acquire() as connection, connection.transaction():
        await quota.hold_book(connection, await quota.standing(connection, account), book, run, 45_000)

    stripe.dispute(session)
    await deliver()
    async with pool.acquire() as connection, connection.transaction():
        await quota.consume_book(connection, account, book, run, 45_000)
    disputed = await credits.balance(pool, account)
    stripe.close_dispute(session, "won")
    await deliver()

    assert (disputed, await credits.balance(pool, account)) == (0, 4)


async def test_a_won_dispute_returns_a_use_of_an_addon(pool, payments, quota, stripe, make_account, deliver):
    account = await make_account()
    session = await payments.buy_addon(account, "childrens-book", "per_use", NOWHERE)
    stripe.pay(session.session_id)
    stripe.dispute(session.session_id)
    await deliver()
    period = await quota.period(pool, account)
    disputed = await addons.owned(pool, account, period.start, period.end, period.start)

    stripe.close_dispute(session.session_id, "won")
    await deliver()

    [owned] = await addons.owned(pool, account, period.start, period.end, period.start)
    assert (sum(each.bought for each in disputed), owned.bought) == (0, 1)


async def test_a_plan_starts_renews_lapses_and_ends_with_its_events(
    pool, quota, clock, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    subscription = await subscribe(account)
    await deliver()
    begun = await quota.standing(pool, account)

    clock.now += timedelta(days=31)
    stripe.renew(subscription, paid=False)
    await deliver()
    lapsing = await subscriptions.find(pool, account)
    in_grace = await quota.plan(pool, account)
    clock.now += timedelta(days=8)
    lapsed = await quota.plan(pool, account)
    stripe.cancel(subscription, reason="payment_failed")
    await deliver()

    assert (begun.plan.slug, lapsing.status, in_grace.slug, lapsed.slug) == ("starter", "past_due", "starter", "free")
    assert (await subscriptions.find(pool, account)).status == "canceled"
    assert (await quota.plan(pool, account)).slug == "free"


async def test_an_unpaid_month_brings_no_new_allowance(pool, quota, clock, stripe, make_account, subscribe, deliver):
    account = await make_account()
    subscription = await subscribe(account)
    await deliver()
    await quota.spend(pool, account, Allowance.AI_EDITS, 100)

    clock.now += timedelta(days=31)
    stripe.renew(subscription, paid=False)
    await deliver()
    clock.now += timedelta(days=1)
    in_grace = await quota.standing(pool, account)
    with pytest.raises(QuotaExceeded) as refused:
        await quota.spend(pool, account, Allowance.AI_EDITS)

    assert (in_grace.plan.slug, refused.value.details["remaining"]) == ("starter", 0)
    assert in_grace.period.start < clock() < in_grace.period.end

    stripe.objects[subscription]["status"] = "active"
    stripe._emit("customer.subscription.updated", stripe.objects[subscription])
    await deliver()
    await quota.spend(pool, account, Allowance.AI_EDITS, 100)


async def test_a_plan_without_renewal_news_ends_a_few_days_after_the_paid_period(
    pool, quota, clock, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    subscription = await subscribe(account)
    await deliver()
    paid_until = (await subscriptions.find(pool, account)).current_period_end

    clock.now = paid_until + timedelta(days=3) - timedelta(seconds=1)
    in_grace = await quota.plan(pool, account)
    clock.now += timedelta(seconds=1)
    ended = await quota.plan(pool, account)
    patient = Quota(billing=True, renewal_grace=timedelta(days=5), clock=clock)
    by_setting = await patient.plan(pool, account)
    stripe.renew(subscription)
    await deliver()

    assert (in_grace.slug, ended.slug, by_setting.slug) == ("starter", "free", "starter")
    assert (await quota.plan(pool, account)).slug == "starter"


async def test_the_period_is_read_from_an_older_api_version_of_the_processor(
    pool, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    subscription = stripe.objects[await subscribe(account)]
    [item] = subscription["items"]["data"]
    subscription |= {name: item.pop(name) for name in ("current_period_start", "current_period_end")}

    await deliver()

    present = await subscriptions.find(pool, account)
    assert present.current_period_end.timestamp() == subscription["current_period_end"]


async def test_a_second_unpaid_month_does_not_restart_the_grace_period(
    pool, quota, clock, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    subscription = await subscribe(account)
    for _ in range(2):
        clock.now += timedelta(days=31)
        stripe.renew(subscription, paid=False)
    await deliver()
    twice_unpaid = await quota.plan(pool, account)

    clock.now += timedelta(days=31)
    stripe.renew(subscription)
    clock.now += timedelta(days=31)
    stripe.renew(subscription, paid=False)
    await deliver()
    unpaid_again = await quota.plan(pool, account)

    assert (twice_unpaid.slug, unpaid_again.slug) == ("free", "starter")


async def test_a_cancelled_plan_lasts_until_the_paid_period_ends(
    pool, quota, clock, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    stripe.cancel(await subscribe(account))
    await deliver()

    assert (await quota.plan(pool, account)).slug == "starter"
    clock.now += timedelta(days=31)
    assert (await quota.plan(pool, account)).slug == "free"


async def test_a_plan_cancelled_by_a_dispute_ends_at_once(pool, quota, stripe, make_account, subscribe, deliver):
    account = await make_account()
    stripe.cancel(await subscribe(account), reason="payment_disputed")

    await deliver()

    assert (await quota.plan(pool, account)).slug == "free"


@pytest.mark.parametrize("status", ["incomplete", "incomplete_expired", "paused"])
async def test_a_plan_that_was_never_paid_grants_nothing(pool, quota, stripe, make_account, subscribe, deliver, status):
    account = await make_account()
    stripe.objects[await subscribe(account)]["status"] = status

    await deliver()

    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, present.status) == ("starter", "incomplete")
    assert (await quota.plan(pool, account)).slug == "free"


async def test_a_subscription_to_a_missing_plan_is_recorded_as_such(pool, stripe, make_account, subscribe, deliver):
    await subscribe(await make_account())
    await pool.execute("UPDATE plan SET slug = 'beginner' WHERE slug = 'starter'")

    await deliver()

    outcomes = await pool.fetch("SELECT outcome FROM payment_event WHERE type = 'customer.subscription.created'")
    assert [row["outcome"] for row in outcomes] == ["there is no plan starter"]


async def test_an_unreadable_subscription_does_not_hide_a_readable_one(
    pool, quota, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    await subscribe(account)
    (known,) = [each for each in stripe.objects.values() if each["object"] == "subscription"]
    stripe.objects["sub_a"] = {**known, "id": "sub_a", "status": "hibernating", "items": {"data": []}}

    await deliver()

    assert (await quota.plan(pool, account)).slug == "starter"


async def test_an_unreadable_known_subscription_changes_nothing_and_its_event_is_retried(
    pool, quota, stripe, make_account, subscribe, deliver
):
    account = await make_account()
    await subscribe(account)
    await deliver()
    (known,) = [each for each in stripe.objects.values() if each["object"] == "subscription"]
    known["status"] = "hibernating"
    stripe._emit("customer.subscription.updated", known)

    with pytest.raises(Unavailable):
        await deliver()

    assert (await quota.plan(pool, account)).slug == "starter"


async def test_an_unknown_event_is_stored_and_answered(pool, payments, stripe):
    stripe._emit("customer.tax_id.created", {"id": "txi_1"})

    await payments.receive(*stripe.delivery(stripe.events[0]))

    assert await pool.fetchval("SELECT outcome FROM payment_event WHERE applied_at IS NOT NULL") == "nothing to do"


async def test_an_event_waits_while_the_processor_is_down(pool, payments, stripe, make_account, buy_credits, deliver):
    account = await make_account()
    await buy_credits(account)
    stripe.wire.faults.extend([503, 503, 503])

    with pytest.raises(Unavailable):
        await deliver()
    assert await pool.fetchval("SELECT count(*) FROM payment_event WHERE applied_at IS NULL") == 1
    await deliver()

    assert await credits.balance(pool, account) == 5


async def test_an_event_of_a_bought_plan_waits_until_the_subscription_can_be_read(
    pool, payments, stripe, make_account, subscribe
):
    account = await make_account()
    await subscribe(account)
    (bought,) = [each for each in stripe.events if each["type"] == "checkout.session.completed"]
    stripe.wire.faults.extend([None, 503, 503, 503])  # the session has been read

    with pytest.raises(Unavailable):
        await payments.receive(*stripe.delivery(bought))
    assert await pool.fetchval("SELECT applied_at FROM payment_event WHERE id = $1", bought["id"]) is None
    await payments.receive(*stripe.delivery(bought))

    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, present.status) == ("starter", "active")


async def test_during_a_rotation_both_webhook_secrets_are_accepted(pool, stripe, make_account, buy_credits, payments):
    account = await make_account()
    await buy_credits(account)
    await buy_credits(account, "single")

    await payments.receive(*stripe.delivery(stripe.events[0], secret=WEBHOOK_SECRET))
    await payments.receive(*stripe.delivery(stripe.events[1], secret=NEXT_WEBHOOK_SECRET))

    assert await credits.balance(pool, account) == 6


async def send(payments, stripe, event):
    await payments.receive(*stripe.delivery(event))


async def test_an_unreadable_event_is_stored_and_logged_and_skipped(pool, payments, stripe, buy_credits, make_account):
    await buy_credits(await make_account())
    [good] = stripe.events
    broken = [
        {"id": "evt_bare", "type": "invoice.paid"},
        {**good, "id": "evt_empty", "type": "customer.subscription.updated", "data": {"object": {}}},
        {**good, "id": "evt_text", "data": "?"},
        {**good, "id": "evt_late", "created": 10**18},
    ]

    with capture_logs() as logs:
        for event in (*broken, good):
            await send(payments, stripe, event)
    lines = [line async for line in payments.reconciliation().replay(everything=True)]

    told = {line["event_id"] for line in logs if line["event"] == "payment_event_unreadable"}
    assert told == {event["id"] for event in broken}
    assert await pool.fetchval("SELECT count(*) FROM payment_event") == 5
    assert sum("cannot be read, skipped" in line for line in lines) == 4
    assert [line for line in lines if "credits five-pack: paid" in line]


async def test_a_guest_gets_an_account_with_credits_and_a_sign_in_link(pool, buy_credits, deliver):
    await buy_credits(None, email="Guest.Writer@example.com")

    await deliver()
    await deliver()

    account = await pool.fetchrow("SELECT id, email, password_hash FROM account")
    assert (account["email"], account["password_hash"]) == ("Guest.Writer@example.com", None)
    assert await credits.balance(pool, account["id"]) == 5
    assert [tuple(row) for row in await pool.fetch("SELECT purpose, email FROM mail")] == [
        ("magic-login", "Guest.Writer@example.com")
    ]


@pytest.mark.parametrize(
    ("package", "bought"), [("single", "1 credit for 9.99 USD"), ("five-pack", "5 credits for 39.99 USD")]
)
async def test_a_guests_letter_says_what_was_bought_and_for_how_much(pool, buy_credits, deliver, package, bought):
    await buy_credits(None, package, email="guest@example.com")

    await deliver()

    assert await pool.fetchval("SELECT details ->> 'bought' FROM mail") == bought


async def test_a_guest_with_a_known_address_gets_the_credits_and_no_sign_in_link(
    pool, stripe, make_account, buy_credits, deliver
):
    account = await make_account()
    email = await pool.fetchval("UPDATE account SET email_verified = true RETURNING upper(email)")
    session = await buy_credits(None, email=email)

    await deliver()
    stripe.refund(session, 800)
    await deliver()

    assert await credits.balance(pool, account) == 4
    assert [tuple(row) for row in await pool.fetch("SELECT purpose, email FROM mail")] == [("receipt", email)]
    assert await pool.fetchval("SELECT count(*) FROM payment_customer") == 0


async def claim(pool, account, email):
    """Verify the address of an account, as the mailed sign-in link does."""
    async with pool.acquire() as connection, connection.transaction():
        return await proof.prove_own(connection, account, email, datetime.now(UTC))


@pytest.mark.parametrize("refunded", [0, 800, 3999])
async def test_a_guest_purchase_waits_while_the_account_with_its_address_is_unverified(
    pool, stripe, make_account, buy_credits, deliver, refunded
):
    squatter = await make_account()
    email = await pool.fetchval("UPDATE account SET password_hash = 'the squatter''s' RETURNING email")
    session = await buy_credits(None, email=email)

    await deliver()
    if refunded:
        stripe.refund(session, refunded)
    await deliver()
    before = await credits.balance(pool, squatter)
    mailed = [tuple(row) for row in await pool.fetch("SELECT purpose, email FROM mail ORDER BY id")]
    account = await claim(pool, squatter, email)
    await deliver()

    assert before == 0
    assert mailed == [("magic-login", email), ("receipt", email)]
    assert account.email_verified
    assert await pool.fetchval("SELECT password_hash FROM account") is None
    assert await credits.balance(pool, squatter) == {0: 5, 800: 4, 3999: 0}[refunded]


async def test_verifying_an_address_with_a_waiting_purchase_removes_the_old_password(
    pool, make_account, buy_credits, deliver
):
    squatter = await make_account()
    email = await pool.fetchval("UPDATE account SET password_hash = 'the squatter''s' RETURNING email")
    await buy_credits(None, email=email)
    await deliver()

    async with pool.acquire() as connection, connection.transaction():
        outcome = await proof.confirm(connection, squatter, email, by_holder=False, now=datetime.now(UTC))

    assert outcome is proof.Proof.HANDED_OVER
    assert await pool.fetchval("SELECT password_hash FROM account") is None
    assert await credits.balance(pool, squatter) == 5


async def test_a_signed_in_owner_who_verifies_keeps_the_password_and_gets_the_waiting_credits(
    pool, make_account, buy_credits, deliver
):
    holder = await make_account()
    email = await pool.fetchval("UPDATE account SET password_hash = 'the holder''s' RETURNING email")
    await buy_credits(None, email=email)
    await deliver()

    async with pool.acquire() as connection, connection.transaction():
        outcome = await proof.confirm(connection, holder, email, by_holder=True, now=datetime.now(UTC))

    assert outcome is proof.Proof.DONE
    assert await pool.fetchval("SELECT password_hash FROM account") == "the holder's"
    assert await credits.balance(pool, holder) == 5


async def test_a_purchase_for_a_reserved_address_goes_to_whoever_verifies_it_later(
    pool, make_account, buy_credits, deliver
):
    former = await make_account()
    await pool.execute(
        "INSERT INTO former_address (email_key, account_id, reserved_until)"
        " VALUES ('left@example.com', $1, now() + interval '1 day')",
        former,
    )
    await buy_credits(None, email="left@example.com")
    await deliver()
    mailed = [row["purpose"] for row in await pool.fetch("SELECT purpose FROM mail ORDER BY id")]
    later = await make_account()
    await pool.execute("DELETE FROM former_address")
    await pool.execute("UPDATE account SET email = 'left@example.com' WHERE id = $1", later)

    await claim(pool, later, "left@example.com")

    assert mailed == ["magic-login", "receipt"]
    assert await credits.balance(pool, former) == 0
    assert await credits.balance(pool, later) == 5


async def test_two_purchases_by_one_new_guest_make_one_account(pool, payments, stripe, buy_credits):
    for _ in range(4):
        await buy_credits(None, "single", email="new@example.com")

    await asyncio.gather(*(payments.receive(*stripe.delivery(event)) for event in stripe.events))

    assert await pool.fetchval("SELECT count(*) FROM account") == 1
    assert await pool.fetchval("SELECT balance FROM wallet") == 4
    mailed = [row["purpose"] for row in await pool.fetch("SELECT purpose FROM mail ORDER BY id")]
    assert mailed == ["magic-login", "receipt", "receipt", "receipt"]


async def _forget(pool):
    """Delete everything that the events did, so that they can be sent again in another order."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("ALTER TABLE credit_transaction DISABLE TRIGGER USER")
        await connection.execute("DELETE FROM credit_transaction; DELETE FROM credit_lot; DELETE FROM wallet")
        await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        await connection.execute("ALTER TABLE credit_transaction ENABLE TRIGGER USER")
        await connection.execute("DELETE FROM payment_event; DELETE FROM payment_object")
        await connection.execute("UPDATE checkout SET status = 'open', payment_intent = NULL")
        await connection.execute(
            "UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = 'free'), status = 'active',"
            " processor_id = NULL, current_period_end = NULL"
        )
