"""Attacks through the e-mail address: what a stranger keeps, and what a stolen token can do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accounts.door import PASSWORD, Door, OpenDoor
from tests.fakes.google_server import GoogleServer

OWNERS = "violet harbour engine"


@pytest.fixture
async def door(open_door: OpenDoor, google: GoogleServer) -> Door:
    return await open_door(google_api_base=google.base)


async def status_of(door: Door, token: str) -> int:
    return (await door.call("GET", "/auth/profile/", token=token))[0]


async def ask_for(door: Door, token: str, email: str, **body: str) -> tuple[int, Any]:
    return await door.call("PATCH", "/auth/profile/", token=token, json={"email": email, **body})


async def reset(door: Door, email: str = "ada@example.com") -> None:
    await door.post("/auth/forgot-password/", {"email": email})
    assert (await door.post(await door.link("reset-password"), {"new_password": OWNERS}))[0] == 200


async def by_google(door: Door, google: GoogleServer, **call: Any) -> Any:
    google.grant("t", sub="the owner", email="ada@example.com")
    status, body = await door.post("/auth/google/", {"access_token": "t"}, **call)
    assert status == 200, body
    return body["tokens"]


async def log_in(door: Door, password: str) -> tuple[int, Any]:
    return await door.post("/auth/login/", {"username": "ada", "password": password})


async def text_of(door: Door, subject: str) -> str:
    """The newest letter whose subject contains the text."""
    letters = [letter for letter in await door.letters() if subject in letter["Subject"]]
    return str(letters[-1].get_body(("plain",)).get_content())  # type: ignore[union-attr]


# --- the attacker registers the victim's address ----------------------------------------------------


async def test_verifying_an_address_signs_out_whoever_registered_it(door: Door) -> None:
    thief = (await door.register("ada"))["tokens"]

    status, body = await door.call("GET", await door.link("verify-email"))

    assert status == 200
    assert "signed out" in body["message"]
    assert await status_of(door, thief["access"]) == 401


async def test_a_link_followed_with_an_invalid_token_is_followed_without_a_sign_in(door: Door) -> None:
    thief = (await door.register("ada"))["tokens"]

    status, body = await door.call("GET", await door.link("verify-email"), token="of another time")

    assert status == 200
    assert "signed out" in body["message"]
    assert await status_of(door, thief["access"]) == 401
    assert (await door.post("/auth/token/refresh/", {"refresh": thief["refresh"]}))[0] == 401
    assert (await log_in(door, PASSWORD))[0] == 200


async def test_a_password_reset_ends_the_tokens_of_a_verified_account(door: Door) -> None:
    thief = await door.verified()

    await reset(door)

    assert await status_of(door, thief) == 401
    assert (await log_in(door, PASSWORD))[0] == 401
    status, body = await log_in(door, OWNERS)
    assert status == 200
    assert await status_of(door, body["tokens"]["access"]) == 200


async def test_a_first_google_sign_in_ends_the_tokens_and_the_password_of_a_verified_account(
    door: Door, google: GoogleServer
) -> None:
    thief = await door.verified()

    owner = await by_google(door, google)
    again = await by_google(door, google)

    assert await status_of(door, thief) == 401
    assert (await log_in(door, PASSWORD))[0] == 401
    assert [await status_of(door, tokens["access"]) for tokens in (owner, again)] == [200, 200]
    assert "password was removed" in await text_of(door, "Google account was linked")


async def test_a_signed_in_owner_who_links_google_keeps_password_and_tokens(door: Door, google: GoogleServer) -> None:
    token = await door.verified()

    await by_google(door, google, token=token)

    assert await status_of(door, token) == 200
    assert (await log_in(door, PASSWORD))[0] == 200
    assert "password was removed" not in await text_of(door, "Google account was linked")


async def test_being_signed_in_to_another_account_does_not_count_as_the_owner(door: Door, google: GoogleServer) -> None:
    thief = await door.verified()

    await by_google(door, google, token=await door.access("bea"))

    assert await status_of(door, thief) == 401
    assert (await log_in(door, PASSWORD))[0] == 401


async def test_a_signed_in_owner_who_verifies_the_address_keeps_password_and_tokens(door: Door) -> None:
    token = await door.verified()

    assert await status_of(door, token) == 200
    assert (await log_in(door, PASSWORD))[0] == 200


# --- the attacker asks for the victim's address on an account of his own -----------------------------


async def test_a_stranger_cannot_confirm_a_change_of_address(door: Door) -> None:
    thief = await door.access("eve")
    await ask_for(door, thief, "ada@example.com", current_password=PASSWORD)
    link = await door.link("verify-email")

    for token in (None, await door.access("bea")):
        status, answer = await door.call("GET", link, token=token)
        assert (status, answer["error"]["code"]) == (401, "AUTHENTICATION_REQUIRED")

    _, profile = await door.call("GET", "/auth/profile/", token=thief)
    assert profile["email"] == "eve@example.com"
    await door.post("/auth/forgot-password/", {"email": "ada@example.com"})
    assert [letter for letter in await door.letters() if "new password" in letter["Subject"]] == []


async def test_confirming_a_change_of_address_keeps_the_password_and_the_tokens(door: Door) -> None:
    token = await door.verified()
    await ask_for(door, token, "ada@example.org", current_password=PASSWORD)

    assert (await door.call("GET", await door.link("verify-email"), token=token))[0] == 200

    _, profile = await door.call("GET", "/auth/profile/", token=token)
    assert (profile["email"], profile["email_verified"]) == ("ada@example.org", True)
    assert (await log_in(door, PASSWORD))[0] == 200


async def test_the_letter_about_a_change_of_address_asks_to_sign_in(door: Door) -> None:
    token = await door.verified()
    await ask_for(door, token, "ada@example.org", current_password=PASSWORD)

    assert "sign in" in await text_of(door, "Verify your new e-mail address")


# --- the attacker has a token and nothing else -------------------------------------------------------


async def test_a_token_alone_cannot_change_a_verified_address(door: Door) -> None:
    stolen = await door.verified()

    status, body = await ask_for(door, stolen, "eve@example.com")
    followed, told = await door.call("GET", await door.link("verify-email"), token=stolen)

    assert (status, followed) == (200, 200)
    assert "ada@example.com" in body["message"]
    assert "ada@example.com" in told["message"]
    _, profile = await door.call("GET", "/auth/profile/", token=stolen)
    assert profile["email"] == "ada@example.com"


@pytest.mark.parametrize("first", ["verify-email", "approve-email"])
async def test_an_address_changes_once_both_links_are_followed_in_any_order(door: Door, first: str) -> None:
    token = await door.verified()
    await ask_for(door, token, "ada@example.org")
    links = {"verify-email": await door.link("verify-email"), "approve-email": await door.link("approve-email")}

    async def follow(page: str) -> None:
        method = "GET" if page == "verify-email" else "POST"
        assert (await door.call(method, links[page], token=token))[0] == 200

    await follow(first)
    _, before = await door.call("GET", "/auth/profile/", token=token)
    await follow(next(page for page in links if page != first))
    _, after = await door.call("GET", "/auth/profile/", token=token)

    assert (before["email"], after["email"]) == ("ada@example.com", "ada@example.org")


async def test_approving_a_change_needs_a_sign_in_to_the_same_account(door: Door) -> None:
    token = await door.verified()
    await ask_for(door, token, "ada@example.org")
    link = await door.link("approve-email")

    for stranger in (None, await door.access("bea")):
        status, answer = await door.post(link, token=stranger)
        assert (status, answer["error"]["code"]) == (401, "AUTHENTICATION_REQUIRED")
    assert (await door.post(link, token=token))[0] == 200


async def test_an_approval_applies_to_one_address_and_not_to_the_next_one(door: Door) -> None:
    token = await door.verified()
    await ask_for(door, token, "ada@example.org")
    approval = await door.link("approve-email")
    assert (await door.post(approval, token=token))[0] == 200

    await ask_for(door, token, "eve@example.com")
    await door.call("GET", await door.link("verify-email"), token=token)

    assert (await door.post(approval, token=token))[0] == 400
    _, profile = await door.call("GET", "/auth/profile/", token=token)
    assert profile["email"] == "ada@example.com"


async def test_a_delayed_letter_approves_no_other_address(door: Door) -> None:
    token = await door.verified()
    await ask_for(door, token, "ada@example.org")  # its letters wait in the queue
    await ask_for(door, token, "eve@example.com")

    texts = [str(letter.get_body(("plain",)).get_content()) for letter in await door.letters()]  # type: ignore[union-attr]
    approvals = [text for text in texts if "/approve-email/" in text]

    assert len(approvals) == 1
    assert "eve@example.com" in approvals[0]


async def test_a_wrong_current_password_does_not_change_the_address(door: Door) -> None:
    token = await door.verified()

    status, answer = await ask_for(door, token, "eve@example.com", current_password="a guess at it")

    assert status == 400
    assert set(answer["error"]["details"]) == {"current_password"}
    assert await door.database.http.fetchval("SELECT pending_email FROM account") is None


async def test_password_guesses_on_a_change_of_address_are_limited(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="3/hour")
    token = await door.access("ada")

    outcomes = [await ask_for(door, token, "eve@example.com", current_password=f"guess {n}") for n in range(5)]

    assert [status for status, _ in outcomes] == [400] * 3 + [429] * 2
