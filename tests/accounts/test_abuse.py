"""Registration limits: disposable addresses, aliases, browsers and banned callers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bookgen.accounts.signup import Caller, personal_email
from bookgen.errors import InvalidInput
from bookgen.store import bans
from tests.accounts.door import PASSWORD, Door, OpenDoor


async def register(door: Door, name: str, email: str | None = None, **headers: str) -> tuple[int, Any]:
    form = {"username": name, "email": email or f"{name}@example.com", "password": PASSWORD}
    return await door.post("/auth/register/", form, headers={key.replace("_", "-"): headers[key] for key in headers})


ADDRESSES = {
    "x@mailinator.com": 400,
    "x@MAILINATOR.com": 400,
    "x@deep.below.mailinator.com": 400,
    "ada.lovelace@gmail.com": 400,
    "ada+books@gmail.com": 400,
    "Ada.L@GoogleMail.com": 400,
    "ada@gmail.com": 201,
    "ada.l+books@example.com": 201,
    "ada@mailinator.com.example.com": 201,
    "ada@books.test": 201,
}


async def test_throw_away_addresses_and_gmail_aliases_are_refused(door: Door) -> None:
    outcomes = {email: await register(door, f"reader{number}", email) for number, email in enumerate(ADDRESSES)}

    assert {email: status for email, (status, _) in outcomes.items()} == ADDRESSES
    refusals = [answer for status, answer in outcomes.values() if status == 400]
    assert all(set(answer["error"]["details"]) == {"email"} for answer in refusals)


def test_an_address_under_test_is_accepted() -> None:
    assert personal_email(" Ada@Books.test ") == "Ada@books.test"


@pytest.mark.parametrize("email", ["ada@test", "ada@books", "ada", "ada@books.invalid"])
def test_an_address_that_no_mail_can_reach_is_refused(email: str) -> None:
    with pytest.raises(InvalidInput, match="Enter a valid e-mail address"):
        personal_email(email)


async def test_the_third_account_from_one_browser_is_refused_until_tomorrow(door: Door) -> None:
    browser = {"X_Browser_Fingerprint": "browser-1"}
    assert (await register(door, "ada", **browser))[0] == 201
    assert (await register(door, "bea", **browser))[0] == 201

    async with door.client.post(
        "/api/v1/auth/register/",
        json={"username": "cat", "email": "cat@example.com", "password": PASSWORD},
        headers={"X-Browser-Fingerprint": "browser-1"},
    ) as reply:
        error = (await reply.json())["error"]

    assert (reply.status, error["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert reply.headers["Retry-After"] == "86400"
    assert error["details"] == {
        "limit": 2,
        "remaining": 0,
        "reset_seconds": 86400,
        "retry_after": 86400,
        "scope": "fingerprint",
    }
    assert (await register(door, "cat", X_Browser_Fingerprint="browser-2"))[0] == 201
    assert (await register(door, "dot"))[0] == 201


async def test_ten_concurrent_registrations_from_one_browser_make_two_accounts(door: Door) -> None:
    outcomes = await asyncio.gather(
        *(register(door, f"reader{number}", X_Browser_Fingerprint="one") for number in range(10))
    )

    assert sorted(status for status, _ in outcomes) == [201] * 2 + [429] * 8


async def test_a_malformed_fingerprint_does_not_stop_a_registration(door: Door) -> None:
    for number, fingerprint in enumerate(["x" * 7000, "\u00e4\u00f6", "{}", " "]):
        assert (await register(door, f"reader{number}", X_Browser_Fingerprint=fingerprint))[0] == 201


async def ban_origin_of(door: Door, account_id: int) -> None:
    async with door.database.http.acquire() as connection:
        await bans.ban_origins(connection, account_id, "spam")


async def test_a_banned_browser_cannot_register(door: Door) -> None:
    _, body = await register(door, "ada", X_Browser_Fingerprint="bad", X_Forwarded_For="203.0.113.5")
    await ban_origin_of(door, body["user"]["id"])

    status, answer = await register(door, "bea", X_Browser_Fingerprint="bad", X_Forwarded_For="198.51.100.7")

    assert (status, answer["error"]["code"]) == (403, "PERMISSION_DENIED")
    assert (await register(door, "bea", X_Forwarded_For="198.51.100.7"))[0] == 201


@pytest.mark.parametrize(
    ("banned", "tried", "status"),
    [
        ("203.0.113.5", "203.0.113.5", 403),
        ("203.0.113.5", "::ffff:203.0.113.5", 403),
        ("203.0.113.5", "203.0.113.6", 201),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", 403),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", 201),
    ],
)
async def test_a_banned_address_cannot_register(door: Door, banned: str, tried: str, status: int) -> None:
    _, body = await register(door, "ada", X_Forwarded_For=banned)
    await ban_origin_of(door, body["user"]["id"])

    assert (await register(door, "bea", X_Forwarded_For=tried))[0] == status


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_loopback_addresses_are_never_banned(address: str) -> None:
    assert Caller(address=address, fingerprint="f").origin.keys() == {"fingerprint"}


async def test_a_ban_never_covers_a_proxy(open_door: OpenDoor) -> None:
    door = await open_door(trusted_proxies="127.0.0.0/8, 10.0.0.0/8")
    _, body = await register(door, "ada", X_Forwarded_For="10.0.0.7")

    await ban_origin_of(door, body["user"]["id"])

    assert await door.database.http.fetchval("SELECT count(*) FROM ban") == 0


async def test_a_ban_covers_the_addresses_that_the_account_signed_in_from(door: Door) -> None:
    _, body = await register(door, "ada", X_Forwarded_For="203.0.113.5")
    await door.post(
        "/auth/login/", {"username": "ada", "password": PASSWORD}, headers={"X-Forwarded-For": "203.0.113.77"}
    )
    await ban_origin_of(door, body["user"]["id"])

    assert (await register(door, "bea", X_Forwarded_For="203.0.113.77"))[0] == 403


def test_a_caller_without_an_address_has_no_origin() -> None:
    assert Caller(address="").origin == {}
