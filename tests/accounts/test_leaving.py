"""Deleting an account: what is deleted, and who may do it."""

from __future__ import annotations

from typing import Any

import pytest

from bookgen.accounts.tokens import TokenType
from bookgen.billing import credits
from bookgen.models import CreditKind
from bookgen.store import subscriptions
from tests.accounts.door import PASSWORD, Door, OpenDoor
from tests.fakes.google_server import GoogleServer
from tests.fakes.stripe_server import SECRET_KEY, WEBHOOK_SECRET, FakeStripe

PATH = "/auth/delete-account/"
EMPTY = """
    SELECT table_name FROM information_schema.columns
     WHERE table_schema = current_schema() AND column_name = 'account_id' AND is_updatable = 'YES'
"""


async def leave(door: Door, token: str | None, **body: str) -> tuple[int, Any]:
    return await door.post(PATH, body, token=token)


async def tables_that_know(door: Door, account_id: int) -> list[str]:
    tables = [row["table_name"] for row in await door.database.http.fetch(EMPTY)]
    assert len(tables) > 10
    known = []
    for table in tables:
        query = f"SELECT EXISTS (SELECT FROM {table} WHERE account_id = $1)"  # noqa: S608 (a table of ours)
        if await door.database.http.fetchval(query, account_id):
            known.append(table)
    return known


async def test_deleting_an_account_deletes_everything_it_owns(door: Door) -> None:
    token = await door.verified()
    other = await door.access("bea")
    account_id = door.tokens.verify(token, TokenType.ACCESS).account_id
    for holder in (token, other):
        assert (await door.post("/books/", {"title": "A Book"}, token=holder))[0] == 201
    async with door.database.http.acquire() as connection, connection.transaction():
        await subscriptions.lock(connection, account_id)
        await credits.grant(connection, account_id, 5, 50_000, CreditKind.BONUS, "Welcome")
    await door.post("/auth/forgot-password/", {"email": "ada@example.com"})

    status, body = await leave(door, token, current_password=PASSWORD)

    assert (status, set(body)) == (200, {"message"})
    assert await tables_that_know(door, account_id) == []
    assert await door.database.http.fetchval("SELECT count(*) FROM mail WHERE email LIKE 'ada%'") == 0
    assert (await door.call("GET", "/auth/profile/", token=token))[0] == 401
    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 401
    assert len((await door.call("GET", "/books/", token=other))[1]) == 1
    await door.register("ada")


async def test_a_token_alone_cannot_delete_an_account(door: Door) -> None:
    token = await door.access("ada")

    for body in ({}, {"current_password": "a guess at it"}):
        status, answer = await leave(door, token, **body)
        assert (status, set(answer["error"]["details"])) == (400, {"current_password"})
    assert (await leave(door, None, current_password=PASSWORD))[0] == 401
    assert (await door.call("GET", "/auth/profile/", token=token))[0] == 200


async def test_password_guesses_on_account_deletion_are_limited(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="3/hour")
    token = await door.access("ada")

    outcomes = [(await leave(door, token, current_password=f"guess {n}"))[0] for n in range(5)]

    assert outcomes == [400] * 3 + [429] * 2


async def test_deleting_an_account_without_a_password_needs_a_recent_sign_in(
    open_door: OpenDoor, google: GoogleServer
) -> None:
    door = await open_door(google_api_base=google.base)
    google.grant("t", sub="1", email="ada@example.com")
    _, body = await door.post("/auth/google/", {"access_token": "t"})
    account_id, now = body["user"]["id"], door.tokens.now()
    old = door.tokens.sign(TokenType.ACCESS, account_id, now - 300)
    await door.database.http.execute("UPDATE account SET tokens_valid_from = 'epoch'")
    door.rights.forget(account_id)

    too_late, answer = await leave(door, old)
    in_time, _ = await leave(door, body["tokens"]["access"])

    assert too_late == 400
    assert "Sign in again" in str(answer["error"]["details"]["current_password"])
    assert in_time == 200


@pytest.fixture
async def shop(open_door: OpenDoor) -> Any:
    stripe = FakeStripe()
    await stripe.start()
    door = await open_door(
        stripe_api_base=stripe.url, stripe_secret_key=SECRET_KEY, stripe_webhook_secret=WEBHOOK_SECRET
    )
    yield door, stripe
    await stripe.stop()


async def subscribed(door: Door, stripe: FakeStripe) -> str:
    token = await door.access("ada")
    _, session = await door.post("/auth/subscriptions/checkout/", {"plan": "starter"}, token=token)
    stripe.pay(session["sessionId"])
    for event in list(stripe.events):
        payload, signature = stripe.delivery(event)
        reply = await door.call("POST", "/webhooks/stripe/", data=payload, headers={"Stripe-Signature": signature})
        assert reply[0] == 200
    return token


async def test_deleting_an_account_ends_its_subscription_at_the_payment_processor(
    shop: tuple[Door, FakeStripe],
) -> None:
    door, stripe = shop
    token = await subscribed(door, stripe)

    status, _ = await leave(door, token, current_password=PASSWORD)

    assert status == 200
    statuses = [each["status"] for each in stripe.objects.values() if each["object"] == "subscription"]
    assert statuses == ["canceled"]
    assert await tables_that_know(door, 1) == []
    for event in list(stripe.events):
        payload, signature = stripe.delivery(event)
        reply = await door.call("POST", "/webhooks/stripe/", data=payload, headers={"Stripe-Signature": signature})
        assert reply[0] == 200


async def test_no_account_is_deleted_while_the_payment_processor_is_down(shop: tuple[Door, FakeStripe]) -> None:
    door, stripe = shop
    token = await subscribed(door, stripe)
    await stripe.stop()

    status, answer = await leave(door, token, current_password=PASSWORD)

    assert (status, answer["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert (await door.call("GET", "/auth/profile/", token=token))[0] == 200
    await stripe.start()
