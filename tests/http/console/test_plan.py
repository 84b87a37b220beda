"""The page with billing on: plans, credits, bills, and the payment processor's hosted page."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.fakes.stripe_server import FakeStripe
from tests.http.conftest import Api, OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in


async def bought(page: BrowserPage, shop: Api, stripe: FakeStripe, name: str) -> None:
    """Press the button, pay on the hosted page, and deliver the events."""
    await paid(shop, stripe, await checkout(page, name))
    await page.load("plan")


async def checkout(page: BrowserPage, name: str) -> str:
    """Press the button and return the session of the hosted page to which it leads."""
    page.expected.append("checkout.stripe.test")
    await page.press(name)
    address = urlsplit(await page.left())
    assert address.hostname == "checkout.stripe.test"
    assert {urlsplit(url).hostname for url in await page.strangers()} == {address.hostname}
    return address.path.rpartition("/")[2]


async def paid(shop: Api, stripe: FakeStripe, session: str) -> None:
    stripe.pay(session)
    for event in list(stripe.events):
        body, signature = stripe.delivery(event)
        assert (await shop.post("/webhooks/stripe/", data=body, headers={"Stripe-Signature": signature})).status == 200
    stripe.events.clear()


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


async def test_an_add_on_is_bought_where_it_is_needed_and_its_use_is_counted(
    shop: Api, stripe: FakeStripe, open_page: OpenPage
) -> None:
    page = await open_page(shop)
    book = await (await sign_in(page, shop)).outlined()
    await page.open(f"books/{book['id']}/outline")
    await page.press("Write, proofread and make files")
    await page.sees("This needs the add-on “Automated production”.")
    await page.until("!document.querySelector('dialog').innerText.includes('Start')")

    await bought(page, shop, stripe, "Buy one use for $4.99, Automated production")

    await page.sees("1 use left")
    await page.open(f"books/{book['id']}/outline")
    await page.press("Write, proofread and make files")
    await page.sees("This takes one use of your add-on “Automated production” (1 use left).")
    await page.named("Start")


async def test_a_picture_book_names_its_add_on_before_it_is_filled_in_and_waits_for_the_payment(
    shop: Api, stripe: FakeStripe, open_page: OpenPage
) -> None:
    page = await open_page(shop)
    page.expected.append("402")
    await sign_in(page, shop)
    await page.open("picture")
    await page.sees("Picture books need the add-on “Children's books”.")

    await page.fill("Title", "Pip and the Dark")
    await page.press("Create book")
    await page.until("document.querySelector('[role=alert]')")
    await page.misses("POST")
    session = await checkout(page, "Buy one use for $3.99, Children's books")
    await page.visit("checkout/success/")
    await page.press("Continue where you were")
    await page.heads("Create a picture book")
    assert await page.value("Title") == "Pip and the Dark"
    await page.sees("Your payment is being confirmed.")
    await page.misses("Buy one use")
    await paid(shop, stripe, session)
    await page.look()

    await page.sees("This takes one use of your add-on “Children's books” (1 use left).")


async def test_who_pays_for_a_plan_is_not_told_what_the_models_cost(shop: Api, open_page: OpenPage) -> None:
    page = await open_page(shop)
    book = await (await sign_in(page, shop)).written()

    await page.open(f"books/{book['id']}/writing")

    await page.sees("Read the book")
    await page.misses("Cost")


async def test_a_visitor_compares_the_plans_before_signing_up(shop: Api, open_page: OpenPage) -> None:
    page = await open_page(shop)
    await page.press("Prices")
    await page.heads("Plans and prices")
    await page.sees("4 images per month")
    await page.sees("with a “Made with bookgen” watermark on every page")
    await page.press("Yearly")
    await page.sees("17% less than monthly")

    await page.press("Choose Starter")

    await page.heads("Create an account")


async def test_nothing_is_for_sale_if_the_service_accepts_no_payments(open_api: OpenApi, open_page: OpenPage) -> None:
    api = await open_api(billing="on")
    page = await open_page(api)
    await page.open("plan")
    await page.sees("This service does not accept payments yet")
    await page.sees("5 books per month, up to 60,000 words each")
    await page.misses("Choose")
    account = await sign_in(page, api)
    book = await account.outlined()

    await page.load("plan")
    await page.sees("This service does not accept payments yet")
    await page.sees("One credit pays for one book beyond your plan.")
    await page.sees("Automated production")
    for name in ("Choose", "Buy", "Subscribe"):
        await page.misses(name)
    await page.open(f"books/{book['id']}/outline")
    await page.press("Write, proofread and make files")

    await page.sees("This service does not accept payments yet, so you cannot buy it here.")


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
    await page.sees("no books left in this billing period, and you have no credits left, so")
    await page.sees("The next period begins on ")
    await page.named("See your plan")
    await page.until("document.querySelector('form button.primary[aria-disabled=true]')")
    await page.press("Create book")
    await page.misses("Wait for the next period")
    await page.misses("At most 0")
    await page.open(f"books/{book['id']}/details")
    await page.fill("Title", "The Salt Roads")
    await page.press("Save")

    await page.named("Saved")
    assert (await account.get(f"/books/{book['id']}/")).body["title"] == "The Salt Roads"


async def test_deleting_a_written_book_says_that_it_still_counts(shop: Api, open_page: OpenPage) -> None:
    page = await open_page(shop)
    account = await sign_in(page, shop)
    draft = await account.outlined(title="The Other")
    book = await account.written(title="The Salt Road")

    await page.open(f"books/{draft['id']}/details")
    await page.until("document.title.startsWith('Details · The Other')")
    await page.press("Delete book")
    await page.sees("until you close this page.")
    await page.misses("It still counts")
    await page.press("Cancel")
    await page.open(f"books/{book['id']}/details")
    await page.until("document.title.startsWith('Details · The Salt Road')")
    await page.press("Delete book")

    await page.sees("until you close this page. It still counts as one of your books until ")


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
    await page.misses("Choose Starter")
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
    await page.named("Subscribe for $19.00 per month, Automated production")

    assert await page.findings() == []
