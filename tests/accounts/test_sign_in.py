"""Registering, signing in, refreshing and signing out."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from argon2 import PasswordHasher

from bookgen.accounts.tokens import TokenType
from tests.accounts.door import PASSWORD, Door, OpenDoor


async def test_a_registered_account_gets_tokens_and_only_its_own_fields(door: Door) -> None:
    body = await door.register("ada", first_name="Ada")

    assert set(body) == {"user", "tokens", "message"}
    assert set(body["user"]) == {"id", "username", "email", "first_name", "last_name", "email_verified"}
    assert body["user"]["first_name"] == "Ada"
    assert body["user"]["email_verified"] is False
    assert set(body["tokens"]) == {"access", "refresh"}


async def test_login_by_email_or_username_shows_the_user_with_its_subscription(door: Door) -> None:
    await door.register("ada")

    by_email = await door.post("/auth/login/", {"email": " ADA@example.com", "password": PASSWORD})
    by_name = await door.post("/auth/login/", {"username": "Ada", "password": PASSWORD})

    assert by_email[0] == by_name[0] == 200
    assert set(by_email[1]) == {"user", "tokens"}
    user = by_email[1]["user"]
    assert user["subscription"]["status"] == "active"
    assert user["subscription"]["plan"]["slug"] == "free"
    assert user["subscription"]["plan"]["price_monthly"] == "0.00"
    assert user["subscription"]["current_period_end"].endswith("Z")
    assert user == by_name[1]["user"]


async def test_wrong_credentials_of_every_kind_get_one_answer(door: Door) -> None:
    await door.register("ada")

    outcomes = [
        await door.post("/auth/login/", body)
        for body in (
            {"email": "ada@example.com", "password": "wrong password"},
            {"email": "nobody@example.com", "password": PASSWORD},
            {"username": "ada@example.com", "password": PASSWORD},
            {"username": "ada", "email": "nobody@example.com", "password": PASSWORD},
            {"email": "%@example.com", "password": PASSWORD},
        )
    ]

    status, answer = outcomes[0]
    assert (status, answer["error"]["code"]) == (401, "INVALID_CREDENTIALS")
    assert "details" not in answer["error"]
    assert outcomes == [outcomes[0]] * 5


ADA = {"username": "ada", "email": "ada@example.com", "password": PASSWORD}
UNFIT: list[tuple[str, Any, set[str]]] = [
    ("/auth/register/", {}, {"username", "email", "password"}),
    ("/auth/register/", ADA | {"password": "short"}, {"password"}),
    ("/auth/register/", ADA | {"password": "x" * 129}, {"password"}),
    ("/auth/register/", ADA | {"password": 12345678}, {"password"}),
    ("/auth/register/", ADA | {"username": "ab"}, {"username"}),
    ("/auth/register/", ADA | {"username": "ab "}, {"username"}),
    ("/auth/register/", ADA | {"username": "a da"}, {"username"}),
    ("/auth/register/", ADA | {"email": "not-an-address"}, {"email"}),
    ("/auth/register/", ADA | {"email": "ada@localhost"}, {"email"}),
    ("/auth/login/", {"password": PASSWORD}, {"email"}),
    ("/auth/login/", {"email": "ada@example.com"}, {"password"}),
    ("/auth/token/refresh/", {}, {"refresh"}),
    ("/auth/google/", {"accesstoken": "mistyped"}, {"access_token"}),
    ("/auth/forgot-password/", {}, {"email"}),
    ("/auth/forgot-password/", {"email": "not-an-address"}, {"email"}),
]


async def test_a_missing_or_unfit_field_is_named(door: Door) -> None:
    for path, body, unfit in UNFIT:
        status, answer = await door.post(path, body)

        assert (status, answer["error"]["code"]) == (400, "VALIDATION_ERROR"), body
        assert set(answer["error"]["details"]) == unfit
        assert all(isinstance(text, str) for messages in answer["error"]["details"].values() for text in messages)


@pytest.mark.parametrize(
    ("again", "field"),
    [
        ({"username": "bea", "email": "ADA@EXAMPLE.com"}, "email"),
        ({"username": "ADA", "email": "b@example.com"}, "username"),
    ],
)
async def test_a_taken_name_or_address_is_refused_without_regard_to_case(door: Door, again: Any, field: str) -> None:
    await door.register("ada")

    status, answer = await door.post("/auth/register/", again | {"password": PASSWORD})

    assert status == 400
    assert set(answer["error"]["details"]) == {field}


async def test_ten_registrations_of_an_address_at_once_make_one_account(door: Door) -> None:
    forms = [{"username": f"ada{number}", "email": "ada@example.com", "password": PASSWORD} for number in range(10)]

    outcomes = await asyncio.gather(*(door.post("/auth/register/", form) for form in forms))

    assert sorted(status for status, _ in outcomes) == [201] + [400] * 9
    assert len(await door.letters()) == 1


async def test_registration_takes_nothing_but_its_own_fields(door: Door) -> None:
    body = await door.register(
        "ada", is_staff=True, is_superuser=True, email_verified=True, id=999, google_subject="1", blocked_at=None
    )

    _, user = await door.call("GET", "/auth/profile/", token=body["tokens"]["access"])

    assert (user["is_staff"], user["is_superuser"], user["email_verified"]) == (False, False, False)
    assert user["id"] != 999


async def test_refresh_gives_two_new_tokens_and_leaves_the_old_one_good(door: Door) -> None:
    tokens = (await door.register("ada"))["tokens"]

    status, fresh = await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]})

    assert status == 200
    assert set(fresh) == {"access", "refresh"}
    assert fresh["refresh"] != tokens["refresh"]
    assert (await door.call("GET", "/auth/profile/", token=fresh["access"]))[0] == 200
    assert (await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]}))[0] == 200


async def test_an_access_token_refreshes_nothing(door: Door) -> None:
    status, answer = await door.post("/auth/token/refresh/", {"refresh": await door.access()})

    assert (status, answer["error"]["code"]) == (401, "TOKEN_INVALID")


async def test_logout_always_succeeds_and_clears_the_cookie(door: Door) -> None:
    async with door.client.post("/api/v1/auth/logout/", headers={"Authorization": "Bearer nonsense"}) as reply:
        assert reply.status == 200
        assert reply.cookies["bookgen_session"]["max-age"] == "0"
        assert set(await reply.json()) == {"message"}


async def test_closed_registration_refuses_but_lets_in_who_is_there(open_door: OpenDoor, door: Door) -> None:
    await door.register("ada")
    closed = await open_door(registration="closed")

    status, answer = await closed.post(
        "/auth/register/", {"username": "bea", "email": "bea@example.com", "password": PASSWORD}
    )

    assert (status, answer["error"]["code"]) == (403, "PERMISSION_DENIED")
    assert (await closed.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 200


async def test_a_password_hash_of_weaker_parameters_is_replaced_at_login(door: Door, pool: asyncpg.Pool) -> None:
    await door.register("ada")
    weak = PasswordHasher(time_cost=1, memory_cost=16, parallelism=2).hash(PASSWORD)
    await door.database.http.execute("UPDATE account SET password_hash = $1", weak)

    await door.post("/auth/login/", {"username": "ada", "password": PASSWORD})

    stored = await door.database.http.fetchval("SELECT password_hash FROM account")
    assert stored != weak
    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 200


async def test_guesses_at_one_account_from_many_addresses_are_stopped(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="4/hour")
    await door.register("ada", headers={"X-Forwarded-For": "203.0.113.9"})

    outcomes = [
        await door.post(
            "/auth/login/",
            {"email": "Ada@example.com", "password": f"guess {guess}"},
            headers={"X-Forwarded-For": f"198.51.100.{guess}"},
        )
        for guess in range(6)
    ]

    assert [status for status, _ in outcomes] == [401] * 4 + [429] * 2
    assert outcomes[-1][1]["error"]["details"]["scope"] == "login"


async def test_the_session_cookie_opens_the_profile_and_nothing_else(door: Door) -> None:
    await door.register("ada")
    async with door.client.post("/api/v1/auth/login/", json={"username": "ada", "password": PASSWORD}) as reply:
        cookie = reply.cookies["bookgen_session"]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Lax", "")

    with_cookie = {"Cookie": f"bookgen_session={cookie.value}"}

    assert (await door.call("GET", "/auth/profile/", headers=with_cookie))[0] == 200
    assert (await door.call("PATCH", "/auth/profile/", headers=with_cookie, json={"first_name": "Eve"}))[0] == 401
    assert (await door.call("GET", "/books/", headers=with_cookie))[0] == 401
    assert (await door.call("GET", "/auth/profile/", token=cookie.value))[1]["error"]["code"] == "TOKEN_INVALID"


async def test_an_access_token_is_no_cookie(door: Door) -> None:
    token = await door.access()

    status, _ = await door.call("GET", "/auth/profile/", headers={"Cookie": f"bookgen_session={token}"})

    assert status == 401


async def test_the_cookie_is_secure_behind_https(open_door: OpenDoor) -> None:
    door = await open_door(public_url="https://books.example")
    await door.register("ada")

    async with door.client.post("/api/v1/auth/login/", json={"username": "ada", "password": PASSWORD}) as reply:
        assert reply.cookies["bookgen_session"]["secure"] is True


HEADERS = {
    None: "AUTHENTICATION_REQUIRED",
    "": "AUTHENTICATION_REQUIRED",
    "{token}": "AUTHENTICATION_REQUIRED",
    "bearer {token}": "AUTHENTICATION_REQUIRED",
    "BEARER {token}": "AUTHENTICATION_REQUIRED",
    "Token {token}": "AUTHENTICATION_REQUIRED",
    "JWT {token}": "AUTHENTICATION_REQUIRED",
    "Bearer": "TOKEN_INVALID",
    "Bearer  {token}": "TOKEN_INVALID",
    "Bearer {token} {token}": "TOKEN_INVALID",
    "Bearer {token}x": "TOKEN_INVALID",
    "Bearer " + "x" * 5000: "TOKEN_INVALID",
    "Bearer {refresh}": "TOKEN_INVALID",
    "Bearer {stranger}": "TOKEN_INVALID",
}


async def test_only_the_word_bearer_and_one_good_token_open(door: Door) -> None:
    tokens = (await door.register())["tokens"]
    words = {
        "token": tokens["access"],
        "refresh": tokens["refresh"],
        "stranger": door.tokens.sign(TokenType.ACCESS, 10**12),
    }

    for header, code in HEADERS.items():
        headers = {} if header is None else {"Authorization": header.format(**words)}
        async with door.client.get("/api/v1/auth/profile/", headers=headers) as reply:
            assert reply.status == 401
            assert reply.headers["WWW-Authenticate"] == 'Bearer realm="api"'
            assert ((await reply.json())["error"]["code"], header) == (code, header)
