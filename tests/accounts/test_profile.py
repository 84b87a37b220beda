"""The profile: its fields, what may be changed, and changes of the address."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accounts.door import PASSWORD, Door


async def test_the_profile_is_the_full_user_whose_token_is_sent(door: Door) -> None:
    status, body = await door.call("GET", "/auth/profile/", token=await door.access("ada"))

    assert status == 200
    assert set(body) == {
        "id",
        "username",
        "email",
        "first_name",
        "last_name",
        "email_verified",
        "avatar_url",
        "is_staff",
        "is_superuser",
        "subscription",
    }
    assert body["username"] == "ada"
    assert body["subscription"]["plan"]["features"]["books_per_month"] == 1


async def test_a_profile_change_answers_with_the_shorter_user_form(door: Door) -> None:
    token = await door.access("ada")

    status, body = await door.call(
        "PATCH", "/auth/profile/", token=token, json={"first_name": " Ada ", "last_name": "L"}
    )

    assert status == 200
    assert set(body) == {"id", "username", "email", "first_name", "last_name", "avatar_url", "message"}
    assert (body["first_name"], body["last_name"]) == ("Ada", "L")


async def test_sending_the_whole_profile_back_changes_no_server_field(door: Door) -> None:
    token = await door.access("ada")
    _, before = await door.call("GET", "/auth/profile/", token=token)
    altered: dict[str, Any] = {
        **before,
        "id": 999,
        "username": "eve",
        "email_verified": True,
        "is_staff": True,
        "is_superuser": True,
        "avatar_url": "https://evil.example/x.png",
        "subscription": {"plan": {"slug": "pro"}},
    }

    await door.call("PATCH", "/auth/profile/", token=token, json=altered)

    assert (await door.call("GET", "/auth/profile/", token=token))[1] == before


@pytest.mark.parametrize("email", ["BEA@example.com", "bea@example.com"])
async def test_the_address_of_another_account_is_refused(door: Door, email: str) -> None:
    await door.register("bea")

    status, answer = await door.call("PATCH", "/auth/profile/", token=await door.access("ada"), json={"email": email})

    assert status == 400
    assert set(answer["error"]["details"]) == {"email"}


@pytest.mark.parametrize("email", ["", "nonsense", "a@mailinator.com"])
async def test_an_invalid_address_is_refused(door: Door, email: str) -> None:
    status, answer = await door.call("PATCH", "/auth/profile/", token=await door.access("ada"), json={"email": email})

    assert status == 400
    assert set(answer["error"]["details"]) == {"email"}


async def test_an_address_from_before_todays_rules_may_be_sent_back_unchanged(door: Door) -> None:
    token = await door.access("ada")
    await door.database.http.execute("UPDATE account SET email = 'ada@localhost'")

    status, body = await door.call(
        "PATCH", "/auth/profile/", token=token, json={"email": "ada@localhost", "first_name": "Ada"}
    )

    assert (status, body["email"], body["first_name"]) == (200, "ada@localhost", "Ada")


async def test_a_new_address_is_pending_until_its_link_is_followed(door: Door) -> None:
    token = await door.verified()

    asked = {"email": "ada@example.org", "current_password": PASSWORD}
    _, changed = await door.call("PATCH", "/auth/profile/", token=token, json=asked)
    _, pending = await door.call("GET", "/auth/profile/", token=token)
    followed, _ = await door.call("GET", await door.link("verify-email"), token=token)
    _, after = await door.call("GET", "/auth/profile/", token=token)

    assert "We sent a link to ada@example.org" in changed["message"]
    assert changed["email"] == "ada@example.com"
    assert (pending["email"], pending["email_verified"]) == ("ada@example.com", True)
    assert followed == 200
    assert (after["email"], after["email_verified"]) == ("ada@example.org", True)
    assert (await door.post("/auth/login/", {"email": "ada@example.org", "password": PASSWORD}))[0] == 200


@pytest.mark.parametrize("spelt", ["Ada@Example.ORG", "ada@bücher.example", "ada@xn--bcher-kva.example"])
async def test_the_message_about_a_pending_address_does_not_depend_on_its_spelling(door: Door, spelt: str) -> None:
    token = await door.access("ada")

    _, changed = await door.call("PATCH", "/auth/profile/", token=token, json={"email": spelt})
    _, named = await door.call("PATCH", "/auth/profile/", token=token, json={"email": changed["email"]})

    assert "We sent a link to" in changed["message"]
    assert "We sent a link to" not in named["message"]


async def test_a_gmail_address_from_google_can_be_sent_back(door: Door) -> None:
    token = await door.access("ada")
    await door.database.http.execute("UPDATE account SET email = 'ada.l@gmail.com'")

    same = await door.call("PATCH", "/auth/profile/", token=token, json={"email": "Ada.L@gmail.com"})
    other = await door.call("PATCH", "/auth/profile/", token=token, json={"email": "bea.l@gmail.com"})

    assert (same[0], other[0]) == (200, 400)


async def test_a_token_alone_changes_a_proven_address_by_two_links(door: Door) -> None:
    token = await door.verified()

    _, changed = await door.call("PATCH", "/auth/profile/", token=token, json={"email": "ada@example.org"})

    assert "We sent links to ada@example.org and ada@example.com." in changed["message"]
    assert "when you follow both" in changed["message"]


async def test_another_spelling_of_the_current_address_applies_at_once(door: Door) -> None:
    token = await door.access("ada")
    await door.database.http.execute("UPDATE account SET email = 'ada@gmail.com'")
    await door.call("PATCH", "/auth/profile/", token=token, json={"email": "ada@example.org"})
    letters = len(await door.letters())

    _, changed = await door.call("PATCH", "/auth/profile/", token=token, json={"email": "ada@googlemail.com"})

    assert changed["email"] == "ada@googlemail.com"
    assert "We sent a link to" not in changed["message"]
    assert len(await door.letters()) == letters


async def test_a_lookalike_letter_in_an_address_is_refused(door: Door) -> None:
    token = await door.access("kim")

    status, _ = await door.call("PATCH", "/auth/profile/", token=token, json={"email": "\N{KELVIN SIGN}im@example.com"})

    assert status == 400
    assert (await door.call("GET", "/auth/profile/", token=token))[1]["email"] == "kim@example.com"


async def test_changing_only_the_case_of_an_address_keeps_it_verified(door: Door) -> None:
    token = await door.verified()

    await door.call("PATCH", "/auth/profile/", token=token, json={"email": "Ada@Example.com"})

    assert (await door.call("GET", "/auth/profile/", token=token))[1]["email_verified"] is True
    assert len(await door.letters()) == 1
