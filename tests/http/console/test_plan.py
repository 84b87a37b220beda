"""The page with billing on: plans, credits, bills, and the payment processor's hosted page."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.fakes.stripe_server import FakeStripe
from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in


async def bought(page: BrowserPage, shop: Api, stripe: FakeStripe, name: str) -> None:
    """Press the button, pay on the hosted page, and deliver the events."""
    page.expected.append("checkout.stripe.test")
    await page.press(name)
    address = urlsplit(await page.left())
    assert address.hostname == "checkout.stripe.test"
    assert {urlsplit(url).hostname for url in await page.strangers()} == {address.hostname}
    stripe.pay(address.path.rpartition("/")[2])
    for event in list(stripe.events):
        body, signature = stripe.delivery(event)
        assert (await shop.post("/webhooks/stripe/", data=body, headers={"Stripe-Signature": signature})).status == 200
    stripe.events.clear()
    await page.load("plan")


async def test_a_plan_can_be_chosen_and_paid_for_and_its_bill_is_shown(
    shop: Api, stripe: FakeStripe, open_page: OpenPage
) -> None:
    page = await open_page(shop)
    await sign_in(page, shop)
    await page.open("plan")
    await page.sees("0 of 1")
    await page.sees("5 books per month, up to 60,000 words each")

    await bought(page, shop, stripe, "Choose Starter")

    await page.sees("Your plan")
    await page.sees("0 of 5")
    await page.sees("Invoices")
    await page.sees("$19.00")
    await page.named("Manage billing")


async def test_credits_can_be_bought_and_their_transactions_are_listed(
    shop: Api, stripe: FakeStripe, open_page: OpenPage
) -> None:
    page = await open_page(shop)
    await sign_in(page, shop)
    await page.open("plan")
    await page.sees("You have 0 credits.")

    await bought(page, shop, stripe, "Buy Five books")

    await page.sees("You have 5 credits.")
    await page.press("Account activity")
    await page.sees("+5")


async def test_a_failed_payment_shows_how_long_the_plan_is_kept(shop: Api, open_page: OpenPage) -> None:
    page = await open_page(shop)
    await sign_in(page, shop)
    await shop.services.database.http.execute(
        "UPDATE subscription SET status = 'past_due', past_due_since = now(),"
        " plan_id = (SELECT id FROM plan WHERE slug = 'starter')"
    )

    await page.open("plan")

    await page.sees("Your last payment failed. Your plan stays active for 7 days")


async def test_book_details_can_be_changed_without_an_allowance_for_new_books(shop: Api, open_page: OpenPage) -> None:
    page = await open_page(shop)
    account = await sign_in(page, shop)
    book = await account.written(title="The Salt Road")
    assert (await account.get("/auth/subscriptions/book-creation-options/")).body["max_words"] == 0

    await page.open("new")
    await page.sees("no books left in this billing period, and you have no credits. See your plan")
    await page.misses("At most 0")
    await page.open(f"books/{book['id']}/details")
    await page.fill("Title", "The Salt Roads")
    await page.press("Save")

    await page.named("Saved")
    assert (await account.get(f"/books/{book['id']}/")).body["title"] == "The Salt Roads"


async def test_a_subscriber_confirms_a_change_before_it_is_charged(
    shop: Api, stripe: FakeStripe, open_page: OpenPage
) -> None:
    page = await open_page(shop)
    account = await sign_in(page, shop)
    await page.open("plan")
    await bought(page, shop, stripe, "Choose Starter")

    await page.press("Choose Pro")
    await page.sees("for the rest of this period is charged now")
    await page.press("Cancel")
    await page.misses("Change to Pro?")
    assert stripe.events == []
    await page.press("Choose Pro")
    await page.press("Change plan")

    await page.sees("0 of 20")
    await page.misses("Change to Pro?")
    assert (await account.get("/auth/profile/")).body["subscription"]["plan"]["slug"] == "pro"


async def test_a_downgrade_waits_for_the_end_of_the_period_and_can_be_cancelled(
    shop: Api, stripe: FakeStripe, open_page: OpenPage
) -> None:
    page = await open_page(shop)
    account = await sign_in(page, shop)
    await page.open("plan")
    await bought(page, shop, stripe, "Choose Pro")

    await page.press("Choose Starter")
    await page.sees("Until then you keep Pro.")
    await page.press("Change plan")
    await page.sees("Your plan changes to Starter (monthly) on")
    await page.sees("0 of 20")
    await page.press("Keep Pro")

    await page.misses("Your plan changes to Starter")
    assert (await account.get("/auth/subscriptions/current/")).body["next_plan"] is None


async def test_axe_finds_nothing_with_billing_on(shop: Api, open_page: OpenPage) -> None:
    page = await open_page(shop)
    await sign_in(page, shop)
    await page.open("plan")
    await page.named("Choose Starter")
    await page.until("document.querySelector('meter')")
    await page.named("$19.00 per month, Automated production")

    assert await page.findings() == []
