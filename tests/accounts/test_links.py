"""Mailed links (verify, reset, magic sign-in): each works once, for a limited time, for one address."""

from __future__ import annotations

import asyncio

import pytest

from bookgen.accounts.tokens import encode_uid
from bookgen.models import LinkPurpose
from bookgen.store import mails
from tests.accounts.door import API, PASSWORD, Door, OpenDoor

NEW = {"new_password": "another fine password"}


async def reset_link(door: Door, email: str = "ada@example.com") -> str:
    await door.post("/auth/forgot-password/", {"email": email})
    return await door.link("reset-password")


async def magic_link(door: Door, email: str = "ada@example.com") -> str:
    await mails.enqueue(door.database.http, LinkPurpose.MAGIC_LOGIN, email)
    return await door.link("magic-login")


async def use(door: Door, link: str) -> tuple[int, object]:
    if "verify-email" in link:
        return await door.call("GET", link)
    return await door.post(link, NEW)


async def test_the_registration_letter_verifies_the_address(door: Door) -> None:
    token = await door.access("ada")

    status, body = await door.call("GET", await door.link("verify-email"), token=token)

    assert (status, set(body)) == (200, {"message"})
    assert (await door.call("GET", "/auth/profile/", token=token))[1]["email_verified"] is True


async def test_another_verification_letter_can_be_requested(door: Door) -> None:
    token = await door.access("ada")
    first = await door.link("verify-email")

    asked = await door.post("/auth/resend-verification/", {"email": "ADA@example.com"})

    second = await door.link("verify-email")
    assert (asked[0], second != first) == (200, True)
    assert (await door.call("GET", second, token=token))[0] == 200
    assert (await door.call("GET", "/auth/profile/", token=token))[1]["email_verified"] is True


async def test_a_verified_or_unknown_address_gets_no_verification_letter(door: Door) -> None:
    token = await door.access("ada")
    assert (await door.call("GET", await door.link("verify-email"), token=token))[0] == 200
    sent = len(await door.letters())

    verified = await door.post("/auth/resend-verification/", {"email": "ada@example.com"})
    unknown = await door.post("/auth/resend-verification/", {"email": "nobody@example.com"})

    assert verified == unknown
    assert len(await door.letters()) == sent


async def test_an_address_gets_at_most_five_verification_letters_an_hour(door: Door) -> None:
    await door.register("ada")

    for _ in range(8):
        assert (await door.post("/auth/resend-verification/", {"email": "ada@example.com"}))[0] == 200

    assert len(await door.letters()) == 5


async def test_a_head_request_does_not_use_up_a_link(door: Door) -> None:
    await door.access("ada")
    link = await door.link("verify-email")

    async with door.client.head(API + link) as looked:
        assert (looked.status, looked.headers["Allow"]) == (405, "GET")

    assert (await door.call("GET", link))[0] == 200


async def test_with_mandatory_verification_an_account_cannot_sign_in_before_it_is_verified(open_door: OpenDoor) -> None:
    door = await open_door(email_verification="mandatory")
    body = await door.register("ada")
    credentials = {"username": "ada", "password": PASSWORD}
    assert set(body) == {"user", "message", "email_verification_required"}
    assert body["email_verification_required"] is True

    status, answer = await door.post("/auth/login/", credentials)
    assert (status, answer["error"]["code"]) == (403, "PERMISSION_DENIED")
    old_token = {"refresh": door.tokens.pair(body["user"]["id"]).refresh}
    assert (await door.post("/auth/token/refresh/", old_token))[0] == 403

    await door.call("GET", await door.link("verify-email"))
    assert (await door.post("/auth/token/refresh/", old_token))[0] == 401
    assert (await door.post("/auth/login/", credentials))[0] == 200


async def test_a_reset_link_sets_the_password(door: Door) -> None:
    await door.register("ada")

    status, _ = await door.post(await reset_link(door, " ADA@Example.com "), NEW)

    assert status == 200
    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 401
    assert (await door.post("/auth/login/", {"username": "ada", "password": NEW["new_password"]}))[0] == 200


async def test_a_magic_link_signs_in_and_verifies_the_address(door: Door) -> None:
    await door.register("ada")

    status, body = await door.post(await magic_link(door))

    assert status == 200
    assert set(body) == {"user", "tokens"}
    assert body["user"]["email_verified"] is True
    assert (await door.call("GET", "/auth/profile/", token=body["tokens"]["access"]))[0] == 200


@pytest.mark.parametrize("page", ["verify-email", "reset-password", "magic-login"])
async def test_of_twenty_concurrent_uses_of_a_link_one_succeeds(door: Door, page: str) -> None:
    await door.register("ada")
    links = {
        "verify-email": door.link,
        "reset-password": lambda _: reset_link(door),
        "magic-login": lambda _: magic_link(door),
    }
    link = await links[page](page)

    outcomes = await asyncio.gather(*(use(door, link) for _ in range(20)))

    assert sorted(status for status, _ in outcomes) == [200] + [400] * 19


@pytest.mark.parametrize("page", ["verify-email", "reset-password", "magic-login"])
async def test_an_expired_link_is_refused_with_the_same_error_as_an_invalid_one(door: Door, page: str) -> None:
    await door.register("ada")
    links = {
        "verify-email": door.link,
        "reset-password": lambda _: reset_link(door),
        "magic-login": lambda _: magic_link(door),
    }
    link = await links[page](page)
    _, _, _, uid, token, _ = link.split("/")
    await door.database.http.execute("UPDATE link SET expires_at = now()")

    expired, *wrong = [
        await use(door, f"/auth/{page}/{uid_given}/{token_given}/")
        for uid_given, token_given in [(uid, token), (uid, "A" * 43), (encode_uid(10**9), token), (uid, "x")]
    ]

    assert expired[0] == 400
    assert wrong == [expired] * 3


@pytest.mark.parametrize(
    ("purpose", "lifetime"), [("verify-email", "3 days"), ("reset-password", "1 hour"), ("magic-login", "24 hours")]
)
async def test_links_expire_after_the_times_in_the_contract(door: Door, purpose: str, lifetime: str) -> None:
    await door.register("ada")
    await reset_link(door)
    await magic_link(door)

    lived = await door.database.http.fetchval(
        "SELECT expires_at - created_at = $2::text::interval FROM link WHERE purpose = $1", purpose, lifetime
    )

    assert lived is True


async def test_a_link_works_only_for_its_own_purpose(door: Door) -> None:
    await door.register("ada")
    link = await door.link("verify-email")

    assert (await door.post(link.replace("verify-email", "reset-password"), NEW))[0] == 400
    assert (await door.post(link.replace("verify-email", "magic-login")))[0] == 400
    assert (await door.call("GET", link))[0] == 200


async def test_an_invalid_uid_is_not_found_or_refused(door: Door) -> None:
    assert (await door.call("GET", "/auth/verify-email/nonsense/token/"))[0] == 404
    assert (await door.post("/auth/reset-password/nonsense/token/", NEW))[0] == 400
    assert (await door.post("/auth/magic-login/nonsense/token/"))[0] == 400


async def test_changing_the_password_ends_mailed_reset_links(door: Door) -> None:
    token = await door.access("ada")
    link = await reset_link(door)

    status, _ = await door.post("/auth/change-password/", {"current_password": PASSWORD, **NEW}, token=token)

    assert status == 200
    assert (await door.post(link, {"new_password": "a thief's password"}))[0] == 400
    assert (await door.call("GET", "/auth/profile/", token=token))[0] == 200


async def test_a_wrong_current_password_changes_nothing(door: Door) -> None:
    token = await door.access("ada")

    status, answer = await door.post("/auth/change-password/", {"current_password": "wrong one", **NEW}, token=token)

    assert status == 400
    assert set(answer["error"]["details"]) == {"current_password"}
    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 200


async def test_guesses_of_the_current_password_are_limited(open_door: OpenDoor) -> None:
    door = await open_door(rate_auth="3/hour")
    token = await door.access("ada")

    outcomes = [
        await door.post("/auth/change-password/", {"current_password": f"guess {guess}", **NEW}, token=token)
        for guess in range(5)
    ]

    assert [status for status, _ in outcomes] == [400] * 3 + [429] * 2


async def test_changing_the_address_ends_links_mailed_to_the_old_one(door: Door) -> None:
    token = await door.access("ada")
    reset, verify = await reset_link(door), await door.link("verify-email")

    await door.call("PATCH", "/auth/profile/", token=token, json={"email": "ada@example.org"})
    await door.call("GET", await door.link("verify-email"), token=token)

    assert (await door.post(reset, NEW))[0] == 400
    assert (await door.call("GET", verify))[0] == 400


async def test_a_refused_new_password_does_not_use_up_the_link(door: Door) -> None:
    await door.register("ada")
    link = await reset_link(door)

    assert (await door.post(link, {"new_password": "short"}))[0] == 400
    assert (await door.post(link, NEW))[0] == 200


async def test_a_password_reset_request_gets_the_same_answer_for_every_address(door: Door) -> None:
    await door.register("ada")
    await door.letters()

    known = await door.post("/auth/forgot-password/", {"email": "ada@example.com"})
    unknown = await door.post("/auth/forgot-password/", {"email": "nobody@example.com"})

    assert known == unknown
    assert known[0] == 200
    assert [letter["To"] for letter in await door.letters()] == ["ada@example.com", "ada@example.com"]


async def test_repeated_requests_for_a_link_do_not_flood_a_mailbox(door: Door) -> None:
    await door.register("ada")

    for _ in range(9):
        await reset_link(door)

    assert len(await door.letters()) == 1 + 5


@pytest.mark.parametrize("page", ["verify-email", "reset-password", "magic-login", "undo-email"])
async def test_a_mailed_link_opens_a_page_that_asks_before_it_acts(door: Door, page: str) -> None:
    async with door.client.get(f"/{page}/MQ/{'A' * 43}/") as reply:
        html = await reply.text()

    assert (reply.status, reply.content_type) == (200, "text/html")
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert "'unsafe-inline'" not in reply.headers["Content-Security-Policy"]
    assert "A" * 43 not in html
    assert "://" not in html


@pytest.mark.parametrize("uid", ["!", "", "MQ"])
async def test_a_link_that_was_never_mailed_opens_no_form_for_a_password(door: Door, uid: str) -> None:
    await door.register("ada")

    assert not await door.accounts.profiles.can_reset(uid, "t" * 43)
