"""Verifying an address: it ends what a stranger set before, and the old address can undo a change."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bookgen.accounts.tokens import TokenType
from bookgen.models import LinkPurpose
from bookgen.store import accounts, mails
from tests.accounts.door import PASSWORD, Door, OpenDoor
from tests.fakes.google_server import GoogleServer

NEW = {"new_password": "another fine password"}


@pytest.fixture
async def door(open_door: OpenDoor, google: GoogleServer) -> Door:
    return await open_door(google_api_base=google.base)


async def status_of(door: Door, token: str) -> int:
    return (await door.call("GET", "/auth/profile/", token=token))[0]


async def sign_in_by_google(
    door: Door, google: GoogleServer, name: str, subject: str = "1", token: str | None = None
) -> Any:
    google.grant(name, sub=subject, email=f"{name}@example.com")
    status, body = await door.post("/auth/google/", {"access_token": name}, token=token)
    assert status == 200, body
    return body


async def ask_for(door: Door, token: str, email: str, **body: str) -> Any:
    status, body = await door.call("PATCH", "/auth/profile/", token=token, json={"email": email, **body})
    assert status == 200, body
    return body


async def ways_to_prove(door: Door, google: GoogleServer, name: str) -> dict[str, Any]:
    async def reset() -> None:
        await door.post("/auth/forgot-password/", {"email": f"{name}@example.com"})
        assert (await door.post(await door.link("reset-password"), NEW))[0] == 200

    async def magic() -> None:
        await mails.enqueue(door.database.http, LinkPurpose.MAGIC_LOGIN, f"{name}@example.com")
        assert (await door.post(await door.link("magic-login")))[0] == 200

    async def by_google() -> None:
        await sign_in_by_google(door, google, name, subject="the owner")

    return {"reset": reset, "magic": magic, "google": by_google}


async def test_an_unverified_address_is_not_reserved(door: Door, google: GoogleServer) -> None:
    thief = await sign_in_by_google(door, google, "eve")

    await ask_for(door, thief["tokens"]["access"], "ada@example.com")
    await door.post("/auth/forgot-password/", {"email": "ada@example.com"})
    letters = await door.letters()
    await door.register("ada")

    assert [letter["To"] for letter in letters if "password" in letter["Subject"]] == []
    assert (await door.call("GET", await door.link("verify-email"), token=thief["tokens"]["access"]))[0] == 200
    _, still = await door.call("GET", "/auth/profile/", token=thief["tokens"]["access"])
    assert still["email"] == "eve@example.com"


async def test_a_session_cookie_alone_does_not_confirm_a_change_of_address(door: Door) -> None:
    token = await door.access("ada")
    async with door.client.post("/api/v1/auth/login/", json={"username": "ada", "password": PASSWORD}) as reply:
        cookie = {"Cookie": f"bookgen_session={reply.cookies['bookgen_session'].value}"}
    await ask_for(door, token, "eve@example.com")

    status, _ = await door.call("GET", await door.link("verify-email"), headers=cookie)

    assert status == 401


@pytest.mark.parametrize("way", ["reset", "magic", "google"])
async def test_verifying_an_address_signs_out_whoever_registered_it_before(
    door: Door, google: GoogleServer, way: str
) -> None:
    thief = (await door.register("ada"))["tokens"]
    async with door.client.post("/api/v1/auth/login/", json={"username": "ada", "password": PASSWORD}) as reply:
        session = (await reply.json())["tokens"], reply.cookies["bookgen_session"].value
    await ask_for(door, thief["access"], "eve@example.com")
    pending = await door.link("verify-email")

    await (await ways_to_prove(door, google, "ada"))[way]()
    door.client.session.cookie_jar.clear()

    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 401
    assert await status_of(door, thief["access"]) == 401
    assert await status_of(door, session[0]["access"]) == 401
    assert (await door.post("/auth/token/refresh/", {"refresh": thief["refresh"]}))[0] == 401
    cookie = {"Cookie": f"bookgen_session={session[1]}"}
    assert (await door.call("GET", "/auth/profile/", headers=cookie))[0] == 401
    assert (await door.call("GET", pending))[0] == 400


async def test_changing_the_password_ends_no_token(door: Door) -> None:
    tokens = (await door.register("ada"))["tokens"]
    await door.call("GET", await door.link("verify-email"), token=tokens["access"])

    body = {"current_password": PASSWORD, **NEW}
    assert (await door.post("/auth/change-password/", body, token=tokens["access"]))[0] == 200

    assert await status_of(door, tokens["access"]) == 200
    assert (await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]}))[0] == 200


async def test_the_tokens_issued_at_verification_are_valid_at_once(door: Door, google: GoogleServer) -> None:
    await door.register("ada")

    body = await sign_in_by_google(door, google, "ada", subject="the owner")

    assert await status_of(door, body["tokens"]["access"]) == 200
    assert (await door.post("/auth/token/refresh/", {"refresh": body["tokens"]["refresh"]}))[0] == 200


async def test_a_login_that_began_before_verification_gets_invalid_tokens(door: Door) -> None:
    body = await door.register("ada")
    account = await accounts.find(door.database.http, body["user"]["id"])
    assert account is not None

    began = door.tokens.now()
    await accounts.end_tokens(door.database.http, account.id, datetime.now(UTC))
    door.rights.forget(account.id)
    late = door.tokens.pair(account.id, max(began, account.tokens_valid_from.timestamp()))

    assert await status_of(door, late.access) == 401
    assert (await door.post("/auth/token/refresh/", {"refresh": late.refresh}))[0] == 401


async def test_a_refreshed_token_keeps_the_time_of_its_sign_in(door: Door) -> None:
    tokens = (await door.register("ada"))["tokens"]
    account_id = await door.database.http.fetchval("SELECT id FROM account")

    _, fresh = await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]})
    before, after = (door.tokens.verify(pair["access"], TokenType.ACCESS) for pair in (tokens, fresh))

    assert before.signed_in_at == after.signed_in_at
    assert before.account_id == account_id


async def test_the_old_address_can_cancel_a_pending_change(door: Door) -> None:
    token = await door.verified()
    await ask_for(door, token, "eve@example.com", current_password=PASSWORD)
    verify, undo = await door.link("verify-email"), await door.link("undo-email")

    status, body = await door.post(undo)

    assert (status, set(body)) == (200, {"message"})
    assert [letter["To"] for letter in await door.letters()].count("ada@example.com") == 2
    assert await status_of(door, token) == 401
    assert (await door.call("GET", verify))[0] == 400
    assert (await door.post(undo))[0] == 400
    assert (await door.post("/auth/login/", {"email": "ada@example.com", "password": PASSWORD}))[0] == 200


async def test_the_old_address_can_undo_a_confirmed_change_and_whatever_was_set_since_then(
    door: Door, google: GoogleServer
) -> None:
    token = await door.verified()
    await ask_for(door, token, "eve@example.com", current_password=PASSWORD)
    undo = await door.link("undo-email")
    await door.call("GET", await door.link("verify-email"), token=token)
    thief = await sign_in_by_google(door, google, "eve", subject="the thief")

    assert (await door.post(undo))[0] == 200

    assert await status_of(door, thief["tokens"]["access"]) == 401
    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 401
    assert (await sign_in_by_google(door, google, "eve", subject="the thief"))["user"]["username"] != "ada"
    await (await ways_to_prove(door, google, "ada"))["reset"]()
    _, back = await door.post("/auth/login/", {"email": "ada@example.com", "password": NEW["new_password"]})
    assert (back["user"]["username"], back["user"]["email_verified"]) == ("ada", True)


async def test_the_undo_link_of_a_later_address_cannot_take_the_account_back(door: Door) -> None:
    token = await door.access("ada")
    await ask_for(door, token, "eve@example.com")
    owners = await door.link("undo-email")
    await door.call("GET", await door.link("verify-email"), token=token)
    await ask_for(door, token, "mallory@example.com")
    thiefs = await door.link("undo-email")

    assert (await door.post(owners))[0] == 200

    assert (await door.post(thiefs))[0] == 400
    assert await door.database.http.fetchval("SELECT email FROM account") == "ada@example.com"


async def test_a_former_address_is_reserved_while_its_change_can_be_undone(door: Door) -> None:
    token = await door.access("ada")
    bea = await door.access("bea")
    await ask_for(door, token, "eve@example.com")
    await door.call("GET", await door.link("verify-email"), token=token)
    undo = await door.link("undo-email")

    form = {"username": "other", "email": "ADA@example.com", "password": PASSWORD}
    registered, _ = await door.post("/auth/register/", form)
    asked, _ = await door.call("PATCH", "/auth/profile/", token=bea, json={"email": "ada@example.com"})

    assert (registered, asked) == (400, 400)
    assert (await door.post(undo))[0] == 200
    await door.database.http.execute("UPDATE former_address SET reserved_until = now()")
    assert (await door.post("/auth/register/", form | {"email": "eve@example.com"}))[0] == 201


async def test_an_address_that_someone_else_took_in_the_meantime_cannot_be_confirmed(door: Door) -> None:
    token = await door.access("ada")
    await ask_for(door, token, "bea@example.com")
    verify = await door.link("verify-email")
    await door.register("bea")

    status, answer = await door.call("GET", verify, token=token)

    assert (status, answer["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert await status_of(door, token) == 200


async def test_requests_from_many_accounts_do_not_flood_one_mailbox(door: Door) -> None:
    tokens = [await door.access(f"eve{number}") for number in range(8)]

    for token in tokens:
        await ask_for(door, token, "victim@example.com")

    assert [letter["To"] for letter in await door.letters()].count("victim@example.com") == 5


async def test_one_of_five_concurrent_confirmations_of_an_address_succeeds(door: Door) -> None:
    links = []
    for number in range(5):
        token = await door.access(f"eve{number}")
        await ask_for(door, token, "prize@example.com")
        links.append((await door.link("verify-email"), token))

    outcomes = await asyncio.gather(*(door.call("GET", link, token=token) for link, token in links))

    assert sorted(status for status, _ in outcomes) == [200] + [400] * 4


async def test_with_mandatory_verification_the_old_address_stays_while_a_new_one_is_pending(
    open_door: OpenDoor,
) -> None:
    door = await open_door(email_verification="mandatory")
    await door.register("ada")
    await door.call("GET", await door.link("verify-email"))
    _, body = await door.post("/auth/login/", {"username": "ada", "password": PASSWORD})

    await ask_for(door, body["tokens"]["access"], "ada@example.org")

    assert (await door.post("/auth/login/", {"email": "ada@example.com", "password": PASSWORD}))[0] == 200
    assert (await door.post("/auth/token/refresh/", {"refresh": body["tokens"]["refresh"]}))[0] == 200


async def test_an_address_gets_at_most_five_letters_about_changes_an_hour(door: Door) -> None:
    token, passwords = await door.access("ada"), itertools.cycle([PASSWORD, NEW["new_password"]])
    current = next(passwords)
    for _ in range(7):
        former, current = current, next(passwords)
        change = {"current_password": former, "new_password": current}
        assert (await door.post("/auth/change-password/", change, token=token))[0] == 200

    told = [letter for letter in await door.letters() if "password was changed" in letter["Subject"]]

    assert len(told) == 5
    assert await door.database.http.fetchval("SELECT count(*) FROM audit WHERE action = 'password-changed'") == 7


async def test_account_changes_are_logged_and_mailed_to_the_owner(door: Door, google: GoogleServer) -> None:
    token = await door.verified()
    await door.post("/auth/login/", {"username": "ada", "password": PASSWORD})
    await sign_in_by_google(door, google, "ada", subject="the owner", token=token)
    await door.post("/auth/change-password/", {"current_password": PASSWORD, **NEW}, token=token)
    await ask_for(door, token, "ada@example.org")
    await door.call("GET", await door.link("verify-email"), token=token)
    await door.post(await door.link("approve-email"), token=token)

    actions = [row["action"] for row in await door.database.http.fetch("SELECT action FROM audit ORDER BY id")]
    told = [(letter["To"], letter["Subject"].partition(" (")[0]) for letter in await door.letters()]

    assert actions == [
        "email-proven",
        "signed-in",
        "google-linked",
        "signed-in",
        "password-changed",
        "email-asked",
        "email-proven",
        "email-approved",
    ]
    assert ("ada@example.com", "A Google account was linked to yours") in told
    assert ("ada@example.com", "Your password was changed") in told


@pytest.mark.parametrize(
    ("browser", "network", "told"),
    [
        ("mine", "198.51.100.7", 0),
        ("mine", "203.0.113.9", 0),
        ("another", "198.51.100.7", 0),
        ("another", "203.0.113.9", 1),
    ],
)
async def test_the_owner_gets_one_letter_about_a_sign_in_from_a_new_place(
    door: Door, browser: str, network: str, told: int
) -> None:
    await door.register("ada", headers={"X-Browser-Fingerprint": "mine", "X-Forwarded-For": "198.51.100.7"})

    for _ in range(2):
        place = {"X-Browser-Fingerprint": browser, "X-Forwarded-For": network}
        status, _ = await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}, headers=place)
        assert status == 200

    letters = [letter["To"] for letter in await door.letters() if "New sign-in" in letter["Subject"]]
    assert letters == ["ada@example.com"] * told


async def test_tokens_are_invalid_up_to_the_later_of_the_two_clocks(door: Door) -> None:
    body = await door.register("ada")
    ahead = datetime.now(UTC) + timedelta(seconds=5)

    await accounts.end_tokens(door.database.http, body["user"]["id"], ahead)

    rights = await accounts.rights(door.database.http, body["user"]["id"])
    assert rights is not None
    assert rights.tokens_valid_from == ahead
