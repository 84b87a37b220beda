"""Purchases: hosted sessions, plan changes in place, the portal, invoices, and a server without keys."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bookgen.billing.checkout import HostedCheckout, Payments, ReturnUrls, Upgraded
from bookgen.billing.gateway import Gateway
from bookgen.billing.processor_catalog import offers
from bookgen.errors import Conflict, InvalidInput, NotFound, PaymentsNotConfigured, Unavailable
from bookgen.store import addons, credits, subscriptions
from tests.fakes.stripe_server import SECRET_KEY, WEBHOOK_SECRET

NOWHERE = ReturnUrls()


@pytest.fixture
def subscribe(payments, stripe, deliver):
    async def subscribe(account_id, plan="starter", interval="monthly"):
        session = await payments.buy_plan(account_id, plan, interval, NOWHERE)
        stripe.pay(session.session_id)
        await deliver()

    return subscribe


async def test_the_first_plan_is_paid_for_on_a_hosted_page(payments, stripe, make_account):
    account = await make_account()

    bought = await payments.buy_plan(account, "pro", "yearly", ReturnUrls("https://app.test/done", None))

    assert bought == HostedCheckout(bought.session_id, f"https://checkout.stripe.test/c/pay/{bought.session_id}")
    session = stripe.objects[bought.session_id]
    assert session["success_url"] == "https://app.test/done"
    assert session["cancel_url"] == "https://books.test/checkout/canceled/"
    assert session["amount_total"] == 49_000
    assert session["metadata"]["bookgen_checkout"]
    assert session["adaptive_pricing"] == {"enabled": "false"}


@pytest.mark.parametrize(("billing_type", "cents"), [("monthly", 1_400), ("per_use", 399)])
async def test_an_addon_has_a_price_for_each_way_to_pay(payments, stripe, make_account, billing_type, cents):
    bought = await payments.buy_addon(await make_account(), "childrens-book", billing_type, NOWHERE)

    assert stripe.objects[bought.session_id]["amount_total"] == cents


async def test_a_single_purchase_asks_for_an_invoice(payments, stripe, make_account):
    bought = await payments.buy_credits(await make_account(), "single", NOWHERE)

    assert stripe.objects[bought.session_id]["invoice_creation"] == {"enabled": "true"}


async def test_changing_the_plan_updates_the_subscription_with_proration(
    pool, quota, payments, stripe, make_account, subscribe
):
    account = await make_account()
    await subscribe(account)
    period = await quota.period(pool, account)

    bought = await payments.buy_plan(account, "pro", "monthly", ReturnUrls("https://books.test/done", None))

    assert bought == Upgraded("https://books.test/done")
    assert (await quota.plan(pool, account)).slug == "pro"
    assert await quota.period(pool, account) == period
    update = next(form for method, path, form in stripe.wire.calls if path.startswith("/v1/subscriptions/"))
    assert update["proration_behavior"] == "always_invoice"
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["30.00", "19.00"]


async def test_the_newest_twenty_invoices_are_listed_without_drafts(payments, stripe, make_account, subscribe):
    account = await make_account()
    await subscribe(account)
    [subscription] = [name for name, each in stripe.objects.items() if each["object"] == "subscription"]
    for _ in range(21):
        stripe.renew(subscription)
    newest = [each for each in stripe.objects.values() if each["object"] == "invoice"][-1]
    newest["status"] = "draft"

    listed = await payments.invoices(account)

    assert len(listed) == 20
    assert newest["id"] not in {invoice.id for invoice in listed}


async def test_buying_the_current_plan_without_an_interval_does_not_change_the_interval(
    pool, payments, make_account, subscribe
):
    account = await make_account()
    await subscribe(account)
    await payments.buy_plan(account, "starter", "yearly", NOWHERE)

    with pytest.raises(Conflict, match="already"):
        await payments.buy_plan(account, "starter", None, NOWHERE)

    await payments.buy_plan(account, "pro", None, NOWHERE)
    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, present.billing_interval) == ("pro", "yearly")


async def test_changing_the_interval_starts_no_new_allowance(pool, quota, payments, make_account, subscribe):
    account = await make_account()
    await subscribe(account)
    period = await quota.period(pool, account)

    await payments.buy_plan(account, "starter", "yearly", NOWHERE)

    assert await quota.period(pool, account) == period


async def test_a_declined_change_leaves_the_plan_as_it_was(pool, quota, payments, stripe, make_account, subscribe):
    account = await make_account()
    await subscribe(account)
    stripe.declines = True

    with pytest.raises(Conflict) as refused:
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    assert str(refused.value.details["payment_url"]).startswith("https://invoice.stripe.test/")
    assert (await quota.plan(pool, account)).slug == "starter"


@pytest.mark.parametrize("status", [400, 402])
async def test_a_refused_change_leaves_no_checkout_open(pool, payments, stripe, make_account, subscribe, status):
    account = await make_account()
    await subscribe(account)
    stripe.wire.faults.extend([None, None, status])  # the subscription has been read and the price found

    with pytest.raises(Conflict):
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    assert await pool.fetchval("SELECT status FROM checkout ORDER BY id DESC LIMIT 1") == "failed"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("UPDATE subscription SET status = 'active'", "You are on this plan already"),
        (
            "UPDATE subscription SET status = 'past_due', past_due_since = now()",
            "payment failed. Make the payment in the billing portal",
        ),
        (
            "UPDATE subscription SET cancel_at_period_end = true",
            "until 2026-03-01. To keep it, renew it in the billing portal",
        ),
    ],
)
async def test_buying_the_current_plan_is_a_conflict_that_says_what_to_do(
    pool, payments, make_account, subscribe, change, says
):
    account = await make_account()
    await subscribe(account)
    await pool.execute(change)

    with pytest.raises(Conflict, match=says):
        await payments.buy_plan(account, "starter", "monthly", NOWHERE)


@pytest.mark.parametrize("interval", ["monthly", "yearly"])
async def test_a_plan_granted_by_the_operator_cannot_be_bought(payments, make_account, interval):
    account = await make_account("starter")

    with pytest.raises(Conflict):
        await payments.buy_plan(account, "starter", interval, NOWHERE)
    assert isinstance(await payments.buy_plan(account, "pro", interval, NOWHERE), HostedCheckout)


@pytest.mark.parametrize("slug", ["free", "self-hosted", "nonsense"])
async def test_buying_something_that_is_not_for_sale_is_a_400(payments, make_account, slug):
    with pytest.raises(InvalidInput) as refused:
        await payments.buy_plan(await make_account(), slug, "monthly", NOWHERE)

    assert "plan" in refused.value.details


async def test_a_plan_without_a_yearly_price_cannot_be_bought_by_the_year(pool, payments, make_account):
    await pool.execute("UPDATE plan SET price_yearly = 0 WHERE slug = 'starter'")

    with pytest.raises(InvalidInput) as refused:
        await payments.buy_plan(await make_account(), "starter", "yearly", NOWHERE)

    assert "interval" in refused.value.details
    assert "bookgen_plan_starter_yearly" not in {offer.lookup_key for offer in await offers(pool)}


async def test_a_second_checkout_closes_the_page_of_the_first(payments, stripe, make_account):
    account = await make_account()

    first = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    second = await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    assert stripe.objects[first.session_id]["status"] == "expired"
    assert stripe.objects[second.session_id]["status"] == "open"
    assert f"/v1/checkout/sessions/{first.session_id}" not in [path for _, path, _ in stripe.wire.calls]


async def test_a_plan_paid_on_another_page_is_not_sold_again(pool, quota, payments, stripe, make_account):
    account = await make_account()
    first = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.pay(first.session_id)

    with pytest.raises(Conflict):
        await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert (await quota.plan(pool, account)).slug == "starter"


async def test_of_checkout_pages_opened_together_one_stays_open(payments, open_payments, stripe, make_account):
    """Within one process and between two."""
    account = await make_account()

    opened = await asyncio.gather(
        *(each.buy_plan(account, "starter", "monthly", NOWHERE) for each in (payments, payments, open_payments())),
        return_exceptions=True,
    )

    pages = [page for page in opened if isinstance(page, HostedCheckout)]
    assert all(isinstance(each, HostedCheckout | Conflict) for each in opened)
    assert [stripe.objects[page.session_id]["status"] for page in pages].count("open") == 1
    assert (
        sum(each["object"] == "checkout.session" and each["status"] == "open" for each in stripe.objects.values()) == 1
    )


async def test_an_expired_checkout_page_does_not_block_the_next(payments, stripe, make_account):
    account = await make_account()
    first = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.objects[first.session_id]["status"] = "expired"

    second = await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert second.session_id != first.session_id


async def test_buying_another_plan_undoes_a_cancellation(pool, payments, stripe, make_account, subscribe):
    account = await make_account()
    await subscribe(account)
    [subscription] = [each for each in stripe.objects.values() if each["object"] == "subscription"]
    subscription["cancel_at_period_end"] = True

    await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, present.cancel_at_period_end) == ("pro", False)


@pytest.fixture
def canceling(stripe, subscribe, deliver):
    """The subscription of an account whose plan is cancelled for the end of the period."""

    async def canceling(account_id):
        await subscribe(account_id)
        [subscription] = stripe._all("subscription")
        stripe.cancel_later(subscription["id"])
        await deliver()
        return subscription

    return canceling


@pytest.fixture
def lose_keep(payments, stripe):
    """A paid upgrade, whose call to undo the cancellation fails."""

    async def lose_keep(account_id):
        # Read, marked, price looked up, product and price created, changed, read, and three tries to undo.
        stripe.wire.faults.extend([None] * 7 + [503] * 3)
        with pytest.raises(Unavailable):
            await payments.buy_plan(account_id, "pro", "monthly", NOWHERE)
        assert stripe.wire.calls[-1][2]["cancel_at_period_end"] == "false"

    return lose_keep


async def test_retrying_an_upgrade_undoes_a_cancellation_that_is_still_set(
    pool, payments, stripe, make_account, canceling, lose_keep
):
    account = await make_account()
    subscription = await canceling(account)
    await lose_keep(account)
    lost = subscription["cancel_at_period_end"]

    assert isinstance(await payments.buy_plan(account, "pro", "monthly", NOWHERE), Upgraded)

    present = await subscriptions.find(pool, account)
    assert (lost, subscription["cancel_at_period_end"], present.cancel_at_period_end) == (True, False, False)
    assert [invoice.amount for invoice in await payments.invoices(account)] == ["30.00", "19.00"]


async def test_the_event_of_an_upgrade_undoes_the_cancellation(
    pool, stripe, make_account, canceling, lose_keep, deliver
):
    account = await make_account()
    subscription = await canceling(account)
    await lose_keep(account)

    await deliver()

    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, present.cancel_at_period_end) == ("pro", False)
    assert not subscription["cancel_at_period_end"]


async def test_reconcile_undoes_the_cancellation_of_an_upgrade_whose_event_was_lost(
    pool, payments, stripe, clock, make_account, canceling, lose_keep
):
    account = await make_account()
    subscription = await canceling(account)
    await lose_keep(account)

    said = [line async for line in payments.reconciliation().reconcile(mend=False, since=timedelta(9), now=clock())]
    unmended = subscription["cancel_at_period_end"]
    async for _ in payments.reconciliation().reconcile(mend=True, since=timedelta(9), now=clock()):
        pass

    assert f"{subscription['customer']}: ends then is True, should be False" in said
    assert (unmended, subscription["cancel_at_period_end"]) == (True, False)
    assert not (await subscriptions.find(pool, account)).cancel_at_period_end


@pytest.mark.parametrize("pays", [True, False])
async def test_a_declined_upgrade_undoes_the_cancellation_only_once_it_is_paid(
    pool, payments, stripe, make_account, canceling, deliver, pays
):
    account = await make_account()
    subscription = await canceling(account)
    stripe.declines = True
    with pytest.raises(Conflict):
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    if pays:
        stripe.pay_pending_update(subscription["id"])
    await deliver()

    present = await subscriptions.find(pool, account)
    assert (present.plan.slug, present.cancel_at_period_end) == (("pro", False) if pays else ("starter", True))
    assert subscription["cancel_at_period_end"] is not pays


async def test_a_cancellation_made_after_an_upgrade_stays(pool, payments, stripe, make_account, canceling, deliver):
    account = await make_account()
    subscription = await canceling(account)
    await payments.buy_plan(account, "pro", "monthly", NOWHERE)
    stripe.cancel_later(subscription["id"])

    await deliver()

    assert subscription["cancel_at_period_end"]
    assert (await subscriptions.find(pool, account)).cancel_at_period_end


async def test_a_plan_can_be_bought_again_after_its_subscription_ended_without_an_event(
    pool, payments, stripe, make_account, subscribe
):
    account = await make_account()
    await subscribe(account)
    [subscription] = [name for name, each in stripe.objects.items() if each["object"] == "subscription"]
    stripe.cancel(subscription)

    with pytest.raises(Conflict, match="ended"):
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)

    assert (await subscriptions.find(pool, account)).status == "canceled"
    assert isinstance(await payments.buy_plan(account, "pro", "monthly", NOWHERE), HostedCheckout)


async def test_concurrent_checkouts_create_one_customer(pool, payments, stripe, make_account):
    account = await make_account()

    await asyncio.gather(*(payments.buy_credits(account, "single", NOWHERE) for _ in range(4)))

    assert await pool.fetchval("SELECT count(*) FROM payment_customer") == 1
    assert len([each for each in stripe.objects.values() if each["object"] == "customer"]) == 1


async def test_a_customer_deleted_at_the_processor_can_buy_again(
    pool, clock, quota, payments, stripe, make_account, subscribe, deliver
):
    """As after switching from test keys to live keys."""
    account = await make_account()
    await subscribe(account)
    stripe.forget_business()

    assert await payments.invoices(account) == []
    with pytest.raises(Conflict):
        await payments.buy_plan(account, "pro", "monthly", NOWHERE)
    until_paid = await quota.plan(pool, account)
    clock.now += timedelta(days=31)
    ended = await quota.plan(pool, account)
    await subscribe(account, "pro")

    assert (until_paid.slug, ended.slug) == ("starter", "free")
    assert (await quota.plan(pool, account)).slug == "pro"
    assert len([each for each in stripe.objects.values() if each["object"] == "customer"]) == 1


async def test_a_request_whose_response_was_lost_is_retried_with_the_same_key(payments, stripe, make_account):
    account = await make_account()
    await payments.buy_credits(account, "single", NOWHERE)
    stripe.wire.faults.extend([None, "lose"])  # the price has been found and the session created

    await payments.buy_credits(account, "single", NOWHERE)

    sessions = [each for each in stripe.objects.values() if each["object"] == "checkout.session"]
    assert len(sessions) == 2
    assert stripe.wire.keys[-1] == stripe.wire.keys[-2]
    assert stripe.wire.keys[-1].startswith("bookgen:checkout:")


async def test_an_unreachable_processor_is_reported(payments, stripe, make_account):
    account = await make_account()
    stripe.wire.faults.extend([500, "drop", 429])

    with pytest.raises(Unavailable):
        await payments.buy_credits(account, "single", NOWHERE)


async def test_an_unchanged_price_is_used_again(payments, stripe, make_account):
    for _ in range(2):
        await payments.buy_credits(await make_account(), "single", NOWHERE)

    assert len(stripe._all("price")) == 1


async def test_a_changed_price_becomes_a_new_price_with_the_same_lookup_key(pool, payments, stripe, make_account):
    account = await make_account()
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    await pool.execute("UPDATE plan SET price_monthly = 21 WHERE slug = 'starter'")
    bought = await payments.buy_plan(account, "starter", "monthly", NOWHERE)

    assert stripe.objects[bought.session_id]["amount_total"] == 2_100
    prices = [each for each in stripe.objects.values() if each["object"] == "price"]
    assert [price["lookup_key"] for price in prices] == [None, "bookgen_plan_starter_monthly"]


@pytest.mark.parametrize("change", [{"currency": "eur"}, {"currency": "zar"}, {"metadata": {}}, {"active": False}])
async def test_an_archived_or_foreign_price_is_not_used(pool, payments, stripe, make_account, deliver, change):
    """The price may be in another currency than offered, for an unknown product, or refused."""
    account = await make_account()
    await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    [price] = [each for each in stripe.objects.values() if each["object"] == "price"]
    price.update(change)

    bought = await payments.buy_plan(account, "starter", "monthly", NOWHERE)
    stripe.pay(bought.session_id)
    await deliver()

    assert (await subscriptions.find(pool, account)).plan.slug == "starter"
    assert stripe.objects[bought.session_id]["currency"] == "usd"
    assert stripe.objects[bought.session_id]["line_items"] != [{"price": price["id"], "quantity": "1"}]


async def test_a_return_url_may_have_any_visible_character(payments, stripe, make_account):
    url = "https://books.test/!~?a=(1)"

    bought = await payments.buy_credits(await make_account(), "single", ReturnUrls(None, url))

    assert stripe.objects[bought.session_id]["cancel_url"] == url


async def test_a_return_url_to_another_site_is_refused(payments, make_account):
    account = await make_account()
    urls = [
        "https://evil.test/",
        "https://books.test.evil.test/",
        "https://books.test@evil.test/",
        "//evil.test/",
        "javascript:alert(1)",
        "https://books.test\\@evil.test/",
        "https://books.test:444/",
        "/relative",
        "http://books.test/",
        "https://[books.test/",
    ]

    for url in urls:
        with pytest.raises(InvalidInput) as refused:
            await payments.buy_credits(account, "single", ReturnUrls(None, url))
        assert "cancel_url" in refused.value.details


async def test_a_purchase_of_an_addon_adds_the_uses_that_were_paid(
    pool, quota, payments, stripe, make_account, deliver
):
    account = await make_account()
    for _ in range(2):
        session = await payments.buy_addon(account, "childrens-book", "per_use", NOWHERE)
        stripe.pay(session.session_id)
    await deliver()
    await deliver()

    period = await quota.period(pool, account)
    [owned] = await addons.owned(pool, account, period.start, period.end, period.start)

    assert (owned.addon.slug, owned.billing_type, owned.bought, owned.taken) == ("childrens-book", "per_use", 2, 0)


@pytest.mark.parametrize("billing_type", ["monthly", "per_use"])
async def test_an_owned_monthly_addon_is_not_sold_again(pool, payments, stripe, make_account, deliver, billing_type):
    account = await make_account()
    session = await payments.buy_addon(account, "automated-production", "monthly", NOWHERE)
    stripe.pay(session.session_id)
    await deliver()

    with pytest.raises(Conflict):
        await payments.buy_addon(account, "automated-production", billing_type, NOWHERE)
    assert (await payments.buy_addon(account, "childrens-book", billing_type, NOWHERE)).session_id
    assert (await subscriptions.find(pool, account)).plan.slug == "free"


async def test_any_other_addon_is_sold_beside_an_owned_one(payments, stripe, make_account, deliver):
    account = await make_account()
    session = await payments.buy_addon(account, "childrens-book", "monthly", NOWHERE)
    stripe.pay(session.session_id)
    await deliver()

    assert (await payments.buy_addon(account, "automated-production", "monthly", NOWHERE)).session_id


async def test_a_customer_may_have_more_subscriptions_than_stripe_lists_at_once(stripe, make_account, subscribe):
    await subscribe(await make_account())
    (subscription,) = [each for each in stripe.objects.values() if each["object"] == "subscription"]
    for number in range(205):
        stripe.objects[f"sub_more_{number}"] = {**subscription, "id": f"sub_more_{number}"}

    gateway = Gateway(SECRET_KEY, api_base=stripe.url)
    found = await gateway.subscriptions(subscription["customer"])
    await gateway.close()

    assert len(found) == len({each.id for each in found}) == 206


async def test_an_addon_with_a_failed_payment_must_be_paid_and_is_not_sold_again(
    payments, stripe, clock, make_account, deliver
):
    account = await make_account()
    session = await payments.buy_addon(account, "automated-production", "monthly", NOWHERE)
    stripe.pay(session.session_id)
    clock.now += timedelta(days=31)
    stripe.renew(stripe.subscription_of(session.session_id), paid=False)
    await deliver()
    clock.now += timedelta(days=8)

    with pytest.raises(Conflict, match="Make the payment in the billing portal"):
        await payments.buy_addon(account, "automated-production", "monthly", NOWHERE)


async def test_the_page_of_one_addon_stays_open_beside_that_of_another(payments, stripe, make_account):
    account = await make_account()
    first = await payments.buy_addon(account, "childrens-book", "monthly", NOWHERE)
    again = await payments.buy_addon(account, "childrens-book", "monthly", NOWHERE)
    stripe.pay(again.session_id)

    other = await payments.buy_addon(account, "automated-production", "monthly", NOWHERE)

    pages = [stripe.objects[page.session_id]["status"] for page in (first, again, other)]
    assert pages == ["expired", "complete", "open"]


async def test_the_portal_opens_for_any_account_that_has_bought_something(payments, stripe, make_account, subscribe):
    account = await make_account()
    await payments.buy_credits(account, "single", NOWHERE)
    with pytest.raises(InvalidInput):
        await payments.portal_url(account)

    await subscribe(account)

    assert (await payments.portal_url(account)).startswith("https://billing.stripe.test/")
    await payments.portal_url(account)
    [portal] = stripe._all("billing_portal.configuration")
    assert portal["features"] == {
        "invoice_history": {"enabled": "true"},
        "payment_method_update": {"enabled": "true"},
        "subscription_cancel": {"enabled": "true", "mode": "at_period_end"},
    }


async def test_a_portal_that_is_no_longer_active_is_not_used(payments, stripe, make_account, subscribe):
    account = await make_account()
    await subscribe(account)
    await payments.portal_url(account)
    [portal] = stripe._all("billing_portal.configuration")
    portal["active"] = False

    await payments.portal_url(account)

    assert stripe._all("billing_portal.session")[0]["configuration"] != portal["id"]


async def test_an_unknown_package_is_a_404(payments):
    with pytest.raises(NotFound):
        await payments.buy_credits(None, "nonsense", NOWHERE)


async def test_without_keys_a_valid_purchase_says_so_and_everything_else_works(pool, quota, make_account):
    payments = Payments(pool, None, public_url="https://books.test")
    account = await make_account()

    for call in (
        payments.buy_plan(account, "pro", "monthly", NOWHERE),
        payments.buy_addon(account, "childrens-book", "per_use", NOWHERE),
        payments.buy_credits(account, "single", NOWHERE),
        payments.buy_credits(None, "single", NOWHERE),
    ):
        with pytest.raises(PaymentsNotConfigured):
            await call
    for call in (
        payments.buy_plan(account, "free", "monthly", NOWHERE),
        payments.buy_addon(account, "nonsense", "per_use", NOWHERE),
        payments.portal_url(account),
        payments.receive(b"{}", ""),
    ):
        with pytest.raises(InvalidInput):
            await call
    with pytest.raises(NotFound):
        await payments.buy_credits(None, "nonsense", NOWHERE)

    assert await payments.invoices(account) == []
    assert (await quota.creation_options(pool, account)).can_create


async def test_a_server_that_stopped_selling_still_delivers_what_was_paid(
    pool, clock, payments, stripe, make_account, subscribe
):
    account = await make_account()
    await subscribe(account, "starter")
    late = await payments.buy_credits(account, "single", NOWHERE)
    stripe.pay(late.session_id)
    gateway = Gateway(SECRET_KEY, api_base=stripe.url)
    off = Payments(
        pool, gateway, public_url="https://books.test", webhook_secrets=[WEBHOOK_SECRET], sells=False, clock=clock
    )

    with pytest.raises(PaymentsNotConfigured):
        await off.buy_plan(account, "pro", "monthly", NOWHERE)
    for event in list(stripe.events):
        await off.receive(*stripe.delivery(event, secret=WEBHOOK_SECRET))

    assert (await subscriptions.find(pool, account)).plan.slug == "starter"
    assert await credits.balance(pool, account) == 1
    assert await off.portal_url(account)
    await off.close()
