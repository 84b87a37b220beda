"""Plans, credits, add-ons and the webhook over the API."""

from __future__ import annotations

import asyncio
import re
from email import message_from_bytes
from email.policy import default

import pytest

from bookgen.accounts.mailing import Mailing
from bookgen.billing.checkout import ReturnUrls
from bookgen.providers.mail import OutboxMailer
from tests.composition import composed
from tests.fakes.stripe_server import SECRET_KEY, WEBHOOK_SECRET


@pytest.fixture
async def buyer(shop):
    return await shop.as_new_account("bea")


def hook(api, stripe, event, **signing):
    body, signature = stripe.delivery(event, **signing)
    return api.post("/webhooks/stripe/", data=body, headers={"Stripe-Signature": signature})


async def test_plans_are_an_array_in_display_order(shop):
    reply = await shop.get("/auth/subscriptions/plans/")

    assert [plan["slug"] for plan in reply.body] == ["free", "starter", "pro"]
    assert reply.body[1]["price_monthly"] == "19.00"
    assert reply.body[0]["features"]["books_per_month"] == 1


async def test_the_current_subscription_shows_usage_and_limits(buyer):
    reply = await buyer.get("/auth/subscriptions/current/")

    assert (reply.status, reply.body["status"], reply.body["plan"]["slug"]) == (200, "active", "free")
    assert reply.body["usage"]["books_created"] == 0
    assert reply.body["limits"]["books_per_month"] == 1
    assert reply.body["current_period_end"] == reply.body["usage"]["period_end"]


async def test_an_account_without_a_subscription_row_gets_a_clear_answer(database, buyer):
    await database.http.execute("DELETE FROM subscription")

    assert (await buyer.get("/auth/subscriptions/current/")).status == 404
    assert (await buyer.get("/auth/subscriptions/usage/")).status == 200


async def test_packages_say_their_price_in_dollars_and_cents(shop):
    five = (await shop.get("/auth/credits/packages/")).body[1]

    assert five == {
        "id": five["id"],
        "slug": "five-pack",
        "name": "Five books",
        "credits": 5,
        "price": 39.99,
        "price_cents": 3999,
        "price_per_book": 8.0,
        "price_per_book_cents": 800,
        "savings_percent": 20,
        "words_per_book": 50_000,
        "is_popular": True,
        "is_active": True,
        "display_order": 1,
    }


async def test_a_wallet_is_created_on_the_first_read(buyer):
    wallet = (await buyer.get("/auth/credits/balance/")).body

    assert (wallet["balance"], wallet["total_purchased"], wallet["total_used"]) == (0, 0, 0)
    assert wallet["created_at"].endswith("Z")
    assert (await buyer.get("/auth/credits/balance/")).body == wallet


@pytest.mark.parametrize(
    ("limit", "status"), [("1", 200), ("100", 200), ("5000", 200), ("0", 400), ("-1", 400), ("x", 400)]
)
async def test_the_limit_of_the_ledger_is_capped_above_and_refused_below(buyer, limit, status):
    assert (await buyer.get("/auth/credits/transactions/", params={"limit": limit})).status == status


async def test_a_credit_purchase_leads_from_checkout_to_the_ledger(buyer, stripe):
    bought = (await buyer.post("/auth/credits/checkout/", {"package": "five-pack"})).body
    stripe.pay(bought["sessionId"])

    assert (await buyer.get("/auth/credits/balance/")).body["balance"] == 0
    received = await hook(buyer, stripe, stripe.events[0])

    assert (received.status, received.body) == (200, {"received": True})
    assert bought["url"].startswith("https://checkout.stripe.test/")
    assert (await buyer.get("/auth/credits/balance/")).body["balance"] == 5
    [row] = (await buyer.get("/auth/credits/transactions/")).body
    assert {key: row[key] for key in ("kind", "amount", "balance_after", "book")} == {
        "kind": "purchase",
        "amount": 5,
        "balance_after": 5,
        "book": None,
    }
    [invoice] = (await buyer.get("/auth/subscriptions/payments/")).body
    assert (invoice["amount"], invoice["currency"], invoice["status"]) == ("39.99", "usd", "paid")
    assert invoice["invoice_pdf"].startswith("https://")


async def test_twenty_concurrent_deliveries_are_all_answered_and_applied_once(buyer, stripe):
    stripe.pay((await buyer.post("/auth/credits/checkout/", {"package": "single"})).body["sessionId"])

    replies = await asyncio.gather(*(hook(buyer, stripe, stripe.events[0]) for _ in range(20)))

    assert [reply.status for reply in replies] == [200] * 20
    assert (await buyer.get("/auth/credits/balance/")).body["balance"] == 1


async def test_a_forged_delivery_is_a_400(buyer, stripe):
    stripe.pay((await buyer.post("/auth/credits/checkout/", {"package": "single"})).body["sessionId"])

    reply = await hook(buyer, stripe, stripe.events[0], secret="whsec_forged")

    assert (reply.status, reply.code) == (400, "VALIDATION_ERROR")
    assert (await buyer.post("/webhooks/stripe/", {"id": "evt_1"})).status == 400
    assert (await buyer.get("/auth/credits/balance/")).body["balance"] == 0


async def test_changing_a_paid_plan_needs_no_checkout_page(buyer, stripe):
    first = (await buyer.post("/auth/subscriptions/checkout/", {"plan": "starter"})).body
    stripe.pay(first["sessionId"])
    for event in stripe.events:
        await hook(buyer, stripe, event)

    second = await buyer.post("/auth/subscriptions/checkout/", {"plan": "pro", "interval": "yearly"})
    again = await buyer.post("/auth/subscriptions/checkout/", {"plan": "pro", "interval": "yearly"})

    assert second.body == {"upgraded": True, "redirect_url": "http://books.example/checkout/success/"}
    assert (again.status, again.code) == (409, "CONFLICT")
    assert (await buyer.get("/auth/profile/")).body["subscription"]["plan"]["slug"] == "pro"
    assert (await buyer.get("/auth/subscriptions/current/")).body["next_plan"] is None
    assert (await buyer.post("/auth/subscriptions/portal/")).body["url"].startswith("https://billing.stripe.test/")


async def test_a_planned_downgrade_is_shown_and_can_be_cancelled(buyer, stripe):
    first = (await buyer.post("/auth/subscriptions/checkout/", {"plan": "pro"})).body
    stripe.pay(first["sessionId"])
    for event in list(stripe.events):
        await hook(buyer, stripe, event)

    smaller = (await buyer.post("/auth/subscriptions/checkout/", {"plan": "starter"})).body
    planned = (await buyer.get("/auth/subscriptions/current/")).body
    kept = (await buyer.post("/auth/subscriptions/checkout/", {"plan": "pro"})).body

    returns = {"upgraded": True, "redirect_url": "http://books.example/checkout/success/"}
    end = planned["current_period_end"]
    assert smaller == {**returns, "effective_at": end}
    assert planned["plan"]["slug"] == "pro"
    assert planned["next_plan"] == {"slug": "starter", "name": "Starter", "interval": "monthly", "effective_at": end}
    assert kept == returns
    assert (await buyer.get("/auth/subscriptions/current/")).body["next_plan"] is None


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/auth/subscriptions/checkout/", {}, "plan"),
        ("/auth/subscriptions/checkout/", {"plan": "free"}, "plan"),
        ("/auth/subscriptions/checkout/", {"plan": "pro", "interval": "weekly"}, "interval"),
        ("/auth/addons/checkout/", {"addon": "childrens-book"}, "billing_type"),
        ("/auth/addons/checkout/", {"addon": "nonsense", "billing_type": "monthly"}, "addon"),
        ("/auth/credits/checkout/", {"pack": "single"}, "package"),
        ("/auth/credits/checkout/", {"package": "single", "success_url": "https://evil.example/"}, "success_url"),
    ],
)
async def test_an_invalid_checkout_names_its_field(buyer, path, body, field):
    reply = await buyer.post(path, body)

    assert (reply.status, reply.code, list(reply.body["error"]["details"])) == (400, "VALIDATION_ERROR", [field])


async def test_addons_can_be_listed_and_bought_and_are_then_owned(buyer, stripe):
    available = (await buyer.get("/auth/addons/available/")).body
    bought = await buyer.post("/auth/addons/checkout/", {"addon": "childrens-book", "billing_type": "per_use"})
    stripe.pay(bought.body["sessionId"])
    await hook(buyer, stripe, stripe.events[0])

    [owned] = (await buyer.get("/auth/addons/my_addons/")).body

    assert [(each["slug"], each["price_monthly"], each["price_per_use"]) for each in available] == [
        ("automated-production", "19.00", "4.99"),
        ("childrens-book", "14.00", "3.99"),
    ]
    assert owned["addon"] == available[1]
    assert (owned["uses_this_period"], owned["uses_remaining"], owned["has_uses_remaining"]) == (0, 1, True)


async def test_a_guest_can_buy_without_an_account(shop, stripe, database):
    bought = await shop.post("/auth/credits/guest-checkout/", {"package": "single"})
    stripe.pay(bought.body["sessionId"], email="new.reader@example.com")

    assert (await hook(shop, stripe, stripe.events[0])).status == 200

    assert await database.http.fetchval("SELECT balance FROM wallet") == 1
    assert await database.http.fetchval("SELECT purpose FROM mail") == "magic-login"


async def test_the_mailed_link_signs_the_guest_in_to_the_account_with_the_credits(shop, stripe, database, tmp_path):
    bought = await shop.post("/auth/credits/guest-checkout/", {"package": "five-pack"})
    stripe.pay(bought.body["sessionId"], email="new.reader@example.com")
    await hook(shop, stripe, stripe.events[0])
    mailer = OutboxMailer(tmp_path / "outbox", sender="books@books.example")
    await Mailing(database.http, mailer, public_url="http://books.example").deliver_due()
    [letter] = (tmp_path / "outbox").glob("*.eml")
    text = message_from_bytes(letter.read_bytes(), policy=default).get_body(("plain",)).get_content()
    link = re.search(r"/magic-login/[^/]+/[^/]+/", text)

    signed_in = await shop.post(f"/auth{link[0]}")
    again = await shop.post(f"/auth{link[0]}")

    shop.access = signed_in.body["tokens"]["access"]
    assert (await shop.get("/auth/credits/balance/")).body["balance"] == 5
    assert again.status == 400


async def test_of_two_starts_for_the_last_allowance_one_is_refused(buyer):
    books = [await buyer.outlined(), await buyer.outlined()]

    replies = await asyncio.gather(*(buyer.post(f"/books/{book['id']}/generate/") for book in books))

    assert sorted(reply.status for reply in replies) == [202, 402]
    refused = next(reply for reply in replies if reply.status == 402)
    details = refused.body["error"]["details"]
    assert refused.code == "quota_exceeded"
    assert (details["quota_type"], details["limit"], details["remaining"]) == ("books", 1, 0)
    assert details["used"] in (0, 1)  # held for the other book, or used if that is written already
    assert details["upgrade"]["plan"] == "starter"


async def test_a_used_up_period_refuses_new_books_until_credits_are_bought(buyer, stripe):
    await buyer.written()

    refused = await buyer.post("/books/", {"title": "Another"})
    options = (await buyer.get("/auth/subscriptions/book-creation-options/")).body
    stripe.pay((await buyer.post("/auth/credits/checkout/", {"package": "single"})).body["sessionId"])
    await hook(buyer, stripe, stripe.events[0])

    assert (refused.status, refused.code) == (402, "quota_exceeded")
    assert (options["can_create"], options["suggested_source"]) == (False, "none")
    book = await buyer.written()
    assert book["funding_source"] == "credits"
    assert (await buyer.get("/auth/credits/balance/")).body["balance"] == 0
    [spend, _] = (await buyer.get("/auth/credits/transactions/")).body
    assert (spend["kind"], spend["amount"], spend["book"]) == ("book_spend", -1, book["id"])


CHECKOUTS = [
    ("/auth/subscriptions/checkout/", {"plan": "pro"}),
    ("/auth/addons/checkout/", {"addon": "childrens-book", "billing_type": "monthly"}),
    ("/auth/credits/checkout/", {"package": "single"}),
    ("/auth/credits/guest-checkout/", {"package": "single"}),
]


@pytest.mark.parametrize(("path", "body"), CHECKOUTS)
async def test_a_checkout_without_keys_says_that_payments_are_not_configured(api, path, body):
    reply = await api.post(path, body)

    assert (reply.status, reply.code) == (409, "PAYMENTS_NOT_CONFIGURED")


async def test_with_billing_off_nothing_is_sold_even_if_keys_are_set(open_api, stripe):
    keys = {"stripe_secret_key": SECRET_KEY, "stripe_webhook_secret": WEBHOOK_SECRET, "stripe_api_base": stripe.url}
    buyer = await (await open_api(billing="off", **keys)).as_new_account("bea")

    for path, body in CHECKOUTS:
        reply = await buyer.post(path, body)
        assert (reply.status, reply.code) == (409, "PAYMENTS_NOT_CONFIGURED")
        assert "Billing is off" in reply.body["error"]["message"]
    assert not stripe.objects


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/auth/subscriptions/checkout/", {"plan": "free"}, 400),
        ("/auth/subscriptions/checkout/", {"plan": "nonsense"}, 400),
        ("/auth/addons/checkout/", {"addon": "nonsense", "billing_type": "monthly"}, 400),
        ("/auth/credits/checkout/", {"package": "nonsense"}, 404),
        ("/auth/credits/guest-checkout/", {"package": "nonsense"}, 404),
        ("/auth/subscriptions/checkout/", {"plan": "pro", "success_url": "https://elsewhere.test/"}, 400),
        ("/auth/credits/guest-checkout/", {"package": "single", "success_url": "https://elsewhere.test/"}, 400),
        ("/auth/subscriptions/portal/", None, 400),
        ("/webhooks/stripe/", {}, 400),
    ],
)
async def test_without_keys_an_invalid_request_gets_its_usual_error(api, path, body, status):
    assert (await api.post(path, body)).status == status


@pytest.mark.parametrize("page", ["success", "canceled", "done"])
async def test_the_pages_after_a_checkout_exist(shop, page):
    reply = await shop.get(f"/checkout/{page}/", prefix="")

    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")


async def test_the_service_reconciles_payments_on_its_own(database, tmp_path, stripe):
    held = asyncio.Event()
    keys = {"stripe_secret_key": SECRET_KEY, "stripe_webhook_secret": WEBHOOK_SECRET, "stripe_api_base": stripe.url}
    async with composed(database, tmp_path, billing="on", **keys) as service:
        bought = await service.services.payments.buy_credits(None, "single", ReturnUrls())
        stripe.pay(bought.session_id)  # the event is lost
        stripe.wire.faults.append(held)

        async with service.working():
            await stripe.wire.holding.wait()

        assert stripe.wire.calls[-1][1] == f"/v1/checkout/sessions/{bought.session_id}"
        held.set()
