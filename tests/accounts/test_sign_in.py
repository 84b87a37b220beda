"""Registering, signing in, refreshing and signing out."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from argon2 import PasswordHasher

from bookgen.accounts.passwords import Passwords
from bookgen.accounts.tokens import TokenType
from bookgen.store.accounts import suggested_usernames
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


async def test_all_wrong_credentials_get_the_same_answer(door: Door) -> None:
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
    ("/auth/register/", ADA | {"password": "qX7_mnb"}, {"password"}),
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
    ("/auth/resend-verification/", {}, {"email"}),
    ("/auth/resend-verification/", {"email": "not-an-address"}, {"email"}),
]


async def test_an_error_names_the_missing_or_invalid_field(door: Door) -> None:
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
async def test_a_taken_name_or_address_is_refused_in_any_case(door: Door, again: Any, field: str) -> None:
    await door.register("ada")

    status, answer = await door.post("/auth/register/", again | {"password": PASSWORD})

    assert status == 400
    assert set(answer["error"]["details"]) == {field}


async def test_ten_concurrent_registrations_of_an_address_make_one_account(door: Door) -> None:
    forms = [{"username": f"ada{number}", "email": "ada@example.com", "password": PASSWORD} for number in range(10)]

    outcomes = await asyncio.gather(*(door.post("/auth/register/", form) for form in forms))

    assert sorted(status for status, _ in outcomes) == [201] + [400] * 9
    assert len(await door.letters()) == 1


async def test_registration_ignores_fields_that_are_not_its_own(door: Door) -> None:
    body = await door.register(
        "ada", is_staff=True, is_superuser=True, email_verified=True, id=999, google_subject="1", blocked_at=None
    )

    _, user = await door.call("GET", "/auth/profile/", token=body["tokens"]["access"])

    assert (user["is_staff"], user["is_superuser"], user["email_verified"]) == (False, False, False)
    assert user["id"] != 999


async def test_a_refresh_gives_two_new_tokens_and_leaves_the_old_one_valid(door: Door) -> None:
    tokens = (await door.register("ada"))["tokens"]

    status, fresh = await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]})

    assert status == 200
    assert set(fresh) == {"access", "refresh"}
    assert fresh["refresh"] != tokens["refresh"]
    assert (await door.call("GET", "/auth/profile/", token=fresh["access"]))[0] == 200
    assert (await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]}))[0] == 200


async def test_an_access_token_cannot_be_used_to_refresh(door: Door) -> None:
    status, answer = await door.post("/auth/token/refresh/", {"refresh": await door.access()})

    assert (status, answer["error"]["code"]) == (401, "TOKEN_INVALID")


async def test_logout_always_succeeds_and_clears_the_cookie(door: Door) -> None:
    async with door.client.post("/api/v1/auth/logout/", headers={"Authorization": "Bearer nonsense"}) as reply:
        assert reply.status == 200
        cookie = reply.cookies["bookgen_session"]
        assert (cookie.value, cookie["max-age"], cookie["samesite"]) == ("", "0", "Lax")
        assert set(await reply.json()) == {"message"}


async def test_closed_registration_refuses_new_accounts_and_lets_existing_ones_sign_in(
    open_door: OpenDoor, door: Door
) -> None:
    await door.register("ada")
    closed = await open_door(registration="closed")

    status, answer = await closed.post(
        "/auth/register/", {"username": "bea", "email": "bea@example.com", "password": PASSWORD}
    )

    assert (status, answer["error"]["code"]) == (403, "PERMISSION_DENIED")
    assert (await closed.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 200


async def test_a_hash_with_weaker_parameters_is_replaced_at_login(door: Door, pool: asyncpg.Pool) -> None:
    await door.register("ada")
    weak = PasswordHasher(time_cost=1, memory_cost=16, parallelism=2).hash(PASSWORD)
    await door.database.http.execute("UPDATE account SET password_hash = $1", weak)

    await door.post("/auth/login/", {"username": "ada", "password": PASSWORD})

    stored = await door.database.http.fetchval("SELECT password_hash FROM account")
    assert stored != weak
    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 200


async def test_guesses_at_one_account_are_limited_across_addresses(open_door: OpenDoor) -> None:
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

    details = outcomes[-1][1]["error"]["details"]
    assert [status for status, _ in outcomes] == [401] * 4 + [429] * 2
    assert details["scope"] == "login"
    assert 4 * 3600 < details["reset_seconds"] <= 5 * 3600  # all guesses are available again within an hour


async def test_correct_passwords_are_not_limited(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="2/minute", trusted_proxies="127.0.0.0/8")
    await door.register("ada", headers={"X-Forwarded-For": "203.0.113.9"})

    statuses = [
        (
            await door.post(
                "/auth/login/",
                {"username": "ada", "password": PASSWORD},
                headers={"X-Forwarded-For": f"198.51.100.{number}"},
            )
        )[0]
        for number in range(8)
    ]

    assert statuses == [200] * 8


async def test_an_address_gets_at_most_five_letters_about_sign_ins_an_hour(open_door: OpenDoor) -> None:
    door = await open_door(trusted_proxies="127.0.0.0/8")
    await door.register("ada", headers={"X-Forwarded-For": "203.0.113.9"})
    for number in range(8):
        stranger = {"X-Forwarded-For": f"198.51.{number}.1"}
        assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}, headers=stranger))[0] == 200

    assert len([letter for letter in await door.letters() if "New sign-in to your account" in letter["Subject"]]) == 5


async def guess(door: Door, address: str, **name: str) -> int:
    body = {**name, "password": "a wrong guess"}
    return (await door.post("/auth/login/", body, headers={"X-Forwarded-For": address}))[0]


SPELLINGS = ["ida", "IDA", "ＩＤＡ", "ｉda", "İda", "idＡ"]


@pytest.mark.parametrize("registered", ["ida", "nobody"])
async def test_all_spellings_of_a_name_share_one_limit_on_guesses(open_door: OpenDoor, registered: str) -> None:
    door = await open_door(rate_auth="3/hour")
    await door.register(registered, headers={"X-Forwarded-For": "203.0.113.9"})
    same = await door.database.http.fetch("SELECT DISTINCT folded(s) FROM unnest($1::text[]) AS s", SPELLINGS)

    by_name = [await guess(door, f"198.51.100.{number}", username=name) for number, name in enumerate(SPELLINGS)]
    by_address = [
        await guess(door, f"192.0.2.{number}", email=f"{name}@example.org") for number, name in enumerate(SPELLINGS)
    ]

    assert len(same) == 1
    assert by_name == by_address == [401] * 3 + [429] * 3


async def test_the_name_and_the_address_of_an_account_share_one_limit_on_guesses(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="2/hour")
    await door.register("ada", headers={"X-Forwarded-For": "203.0.113.9"})

    outcomes = [
        await guess(door, "198.51.100.1", username="ada"),
        await guess(door, "198.51.100.2", email="ada@example.com"),
        await guess(door, "198.51.100.3", username="ADA"),
    ]

    assert outcomes == [401, 401, 429]


async def test_strangers_cannot_lock_an_owner_out_with_wrong_guesses(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="3/hour")
    at_home, elsewhere = {"X-Forwarded-For": "203.0.113.9"}, {"X-Forwarded-For": "198.51.100.200"}
    browser = {**elsewhere, "X-Browser-Fingerprint": "the owner's browser"}
    await door.register("ada", headers={**at_home, "X-Browser-Fingerprint": "the owner's browser"})
    right = {"username": "ada", "password": PASSWORD}

    strangers = [await guess(door, f"198.51.100.{number}", username="ada") for number in range(5)]

    assert strangers == [401] * 3 + [429] * 2
    assert (await door.post("/auth/login/", right, headers=elsewhere))[0] == 429
    assert (await door.post("/auth/login/", right, headers=at_home))[0] == 200
    assert (await door.post("/auth/login/", right, headers=browser))[0] == 200
    at_homes = [await guess(door, "203.0.113.9", username="ada") for _ in range(4)]
    assert at_homes[-1] == 429


async def test_a_queue_full_of_strangers_delays_no_owner_at_home_and_no_valid_token(open_door: OpenDoor) -> None:
    at_home = {"X-Forwarded-For": "203.0.113.9"}
    tokens = (await (await open_door()).register("ada", headers=at_home))["tokens"]
    # With another time cost, so that a sign-in also stores a new hash.
    full = await open_door(passwords=Passwords(time_cost=2, memory_kib=8, max_waiting=0))
    right = {"username": "ada", "password": PASSWORD}
    change = {"current_password": PASSWORD, "new_password": "another violet harbour engine"}

    assert (await full.post("/auth/login/", right, headers={"X-Forwarded-For": "198.51.100.1"}))[0] == 429
    assert (await full.post("/auth/login/", right, headers=at_home))[0] == 200
    assert (await full.post("/auth/change-password/", change, token=tokens["access"]))[0] == 200


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"password": "password123"}, "password"),
        ({"password": "PassWord1"}, "password"),
        ({"password": "ｐassword1"}, "password"),
        ({"username": "adalovelace", "password": "AdaLovelace"}, "password"),
        ({"email": "ada.lovelace@example.com", "password": "ada.lovelace"}, "password"),
        ({"email": "ada.lovelace@example.com", "password": "ada.lovelace@example.com"}, "password"),
        ({"username": "аda"}, "username"),  # the first letter is Cyrillic
        ({"username": "сосо"}, "username"),  # all letters are Cyrillic and look Latin
        ({"username": "ɑda"}, "username"),
        ({"username": "bea@example.com"}, "username"),
        ({"username": "ada@googlemail.com"}, "username"),
    ],
)
async def test_easy_passwords_and_lookalike_names_are_refused(door: Door, form: dict[str, str], field: str) -> None:
    status, answer = await door.post("/auth/register/", ADA | form)

    assert (status, answer["error"]["code"], set(answer["error"]["details"])) == (400, "VALIDATION_ERROR", {field})


@pytest.mark.parametrize(
    "name",
    ["ada@example.com", "Иван", "Ωμέγα", "münchen", "日本の本", "한국어漢字", "ada@", "straße", "a.b_c@d+e-1"],
)
async def test_a_username_may_be_in_one_alphabet_or_be_the_owners_address(door: Door, name: str) -> None:
    status, body = await door.post("/auth/register/", ADA | {"username": name})

    assert (status, body.get("user", {}).get("username")) == (201, name), body


async def test_gmail_and_googlemail_are_one_mailbox(door: Door) -> None:
    assert (await door.post("/auth/register/", ADA | {"email": "ada@gmail.com"}))[0] == 201

    again = await door.post("/auth/register/", {**ADA, "username": "other", "email": "Ada@GoogleMail.com"})
    login = await door.post("/auth/login/", {"email": "ada@googlemail.com", "password": PASSWORD})

    assert (again[0], set(again[1]["error"]["details"])) == (400, {"email"})
    assert login[0] == 200


async def test_a_new_password_may_not_be_a_common_one(door: Door) -> None:
    token = await door.access("ada")
    await door.post("/auth/forgot-password/", {"email": "ada@example.com"})
    reset = await door.link("reset-password")

    for new in ("sunshine1", "ada@example.com"):
        changed = await door.post(
            "/auth/change-password/", {"current_password": PASSWORD, "new_password": new}, token=token
        )
        mailed = await door.post(reset, {"new_password": new})
        assert [set(answer["error"]["details"]) for _, answer in (changed, mailed)] == [{"new_password"}] * 2

    assert (await door.post(reset, {"new_password": "another fine password"}))[0] == 200


async def test_the_session_cookie_gives_access_to_the_profile_only(door: Door) -> None:
    await door.register("ada")
    async with door.client.post("/api/v1/auth/login/", json={"username": "ada", "password": PASSWORD}) as reply:
        cookie = reply.cookies["bookgen_session"]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Lax", "")

    with_cookie = {"Cookie": f"bookgen_session={cookie.value}"}

    assert (await door.call("GET", "/auth/profile/", headers=with_cookie))[0] == 200
    assert (await door.call("PATCH", "/auth/profile/", headers=with_cookie, json={"first_name": "Eve"}))[0] == 401
    assert (await door.call("GET", "/books/", headers=with_cookie))[0] == 401
    assert (await door.call("GET", "/auth/profile/", token=cookie.value))[1]["error"]["code"] == "TOKEN_INVALID"
    assert (await door.post("/auth/token/refresh/", {"refresh": cookie.value}))[0] == 401


async def test_an_access_token_does_not_work_as_a_cookie(door: Door) -> None:
    token = await door.access()

    status, _ = await door.call("GET", "/auth/profile/", headers={"Cookie": f"bookgen_session={token}"})

    assert status == 401


async def test_the_cookie_is_marked_secure_behind_https(open_door: OpenDoor) -> None:
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


async def test_only_the_bearer_scheme_with_one_valid_token_is_accepted(door: Door) -> None:
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


@pytest.mark.parametrize("spelling", ["ADA", "aDa", "ａｄａ", "ada\u200b", "аda"])
async def test_another_spelling_of_an_existing_name_cannot_be_registered(door: Door, spelling: str) -> None:
    await door.register("ada")

    form = {"username": spelling, "email": "eve@example.com", "password": PASSWORD}
    status, body = await door.post("/auth/register/", form)

    assert (status, list(body["error"]["details"])) == (400, ["username"])
    assert await door.database.http.fetchval("SELECT count(*) FROM account") == 1


@pytest.mark.parametrize(("email", "name"), [("ada@example.com", "ada"), ("al@example.com", "alauthor")])
def test_the_default_username_comes_from_the_address_if_it_is_long_enough(email: str, name: str) -> None:
    assert next(suggested_usernames(email)) == name
