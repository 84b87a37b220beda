"""Registering, signing in, refreshing, and the profile."""

from __future__ import annotations

from tests.accounts.conftest import PASSWORD, Door


async def test_a_registered_account_gets_tokens_and_only_its_own_fields(door: Door) -> None:
    body = await door.register("ada", first_name="Ada")

    assert set(body) == {"user", "tokens", "message"}
    assert set(body["user"]) == {"id", "username", "email", "first_name", "last_name", "email_verified"}
    assert body["user"]["first_name"] == "Ada"
    assert set(body["tokens"]) == {"access", "refresh"}


async def test_login_by_email_or_username_shows_user_with_subscription(door: Door) -> None:
    await door.register("ada")

    by_email = await door.post("/auth/login/", {"email": " ADA@example.com", "password": PASSWORD})
    by_name = await door.post("/auth/login/", {"username": "Ada", "password": PASSWORD})

    assert by_email[0] == by_name[0] == 200
    user = by_email[1]["user"]
    assert user["subscription"]["status"] == "active"
    assert user["subscription"]["plan"]["slug"] == "free"
    assert user["subscription"]["current_period_end"].endswith("Z")
    assert user == by_name[1]["user"]


async def test_profile_is_the_user_of_the_token(door: Door) -> None:
    token = await door.access("ada")

    status, body = await door.call("GET", "/auth/profile/", token=token)

    assert status == 200
    assert body["username"] == "ada"
    assert body["subscription"]["plan"]["features"]["books_per_month"] == 1


async def test_refresh_gives_two_new_tokens_that_work(door: Door) -> None:
    tokens = (await door.register("ada"))["tokens"]

    status, fresh = await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]})

    assert status == 200
    assert set(fresh) == {"access", "refresh"}
    assert fresh["refresh"] != tokens["refresh"]
    assert (await door.call("GET", "/auth/profile/", token=fresh["access"]))[0] == 200
    assert (await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]}))[0] == 200
