"""Google sign-in: whose token it is, which client it is for, and which account it opens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from tests.accounts.door import PASSWORD, Door, OpenDoor
from tests.fakes.google_server import GoogleServer


@pytest.fixture
async def door(open_door: OpenDoor, google: GoogleServer) -> Door:
    return await open_door(google_api_base=google.base)


async def sign_in(door: Door, token: str) -> tuple[int, Any]:
    return await door.post("/auth/google/", {"access_token": token})


async def test_a_stranger_gets_an_account_with_a_verified_address(door: Door, google: GoogleServer) -> None:
    google.grant("t", sub="1", email="ada.l@gmail.com", given_name="Ada", picture="https://lh3.example/a.png")

    status, body = await sign_in(door, "t")

    assert status == 200
    assert set(body) == {"user", "tokens"}
    user = body["user"]
    assert (user["email"], user["email_verified"], user["first_name"]) == ("ada.l@gmail.com", True, "Ada")
    assert user["avatar_url"] == "https://lh3.example/a.png"
    assert user["username"] == "ada.l"
    assert (await sign_in(door, "t"))[1]["user"]["id"] == user["id"]


async def test_a_google_server_that_accepts_tokens_only_in_the_query_works(door: Door, google: GoogleServer) -> None:
    google.queried = True
    google.grant("t", sub="1", email="ada.l@gmail.com")

    assert (await sign_in(door, "t"))[0] == 200
    assert (await sign_in(door, "another"))[0] == 401


async def test_an_existing_account_with_the_address_is_linked(door: Door, google: GoogleServer) -> None:
    body = await door.register("ada")
    google.grant("t", sub="1", email="Ada@Example.com")

    _, linked = await sign_in(door, "t")

    assert linked["user"]["id"] == body["user"]["id"]
    assert linked["user"]["email_verified"] is True


async def test_a_password_set_before_the_address_was_verified_is_removed_on_linking(
    door: Door, google: GoogleServer
) -> None:
    await door.register("ada")
    google.grant("t", sub="1", email="ada@example.com")

    assert (await sign_in(door, "t"))[0] == 200

    assert (await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}))[0] == 401


async def test_a_linked_account_is_found_after_its_address_changed(door: Door, google: GoogleServer) -> None:
    google.grant("t", sub="1", email="ada@example.com")
    _, first = await sign_in(door, "t")
    google.grant("t", sub="1", email="ada@example.org")

    assert (await sign_in(door, "t"))[1]["user"]["id"] == first["user"]["id"]


async def test_a_token_issued_to_another_site_is_refused(door: Door, google: GoogleServer) -> None:
    await door.register("ada")
    google.grant("t", sub="1", email="ada@example.com", aud="some-other-site")

    status, answer = await sign_in(door, "t")

    assert (status, answer["error"]["code"]) == (401, "INVALID_CREDENTIALS")


@pytest.mark.parametrize("token", ["unknown", "line\nbreak", "ünïcode", "x" * 4096])
async def test_a_token_that_google_does_not_know_is_refused(door: Door, token: str) -> None:
    status, answer = await sign_in(door, token)

    assert (status, answer["error"]["code"]) == (401, "INVALID_CREDENTIALS")


async def test_an_address_that_google_has_not_verified_is_refused(door: Door, google: GoogleServer) -> None:
    await door.register("ada")
    google.grant("t", sub="1", email="ada@example.com", email_verified=False)

    status, answer = await sign_in(door, "t")

    assert (status, answer["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_two_answers_about_different_people_are_refused(door: Door, google: GoogleServer) -> None:
    google.grant("t", sub="1", userinfo_sub="2", email="ada@example.com")

    assert (await sign_in(door, "t"))[0] == 401


@pytest.mark.parametrize(
    "answer",
    [
        lambda: web.Response(status=500),
        lambda: web.Response(status=302, headers={"Location": "/v1/userinfo"}),
        lambda: web.Response(text="<html>"),
        lambda: web.Response(body=b"x" * 200_000),
    ],
    ids=["broken", "redirect", "no JSON", "endless"],
)
async def test_a_broken_answer_from_google_is_a_503(
    door: Door, google: GoogleServer, answer: Callable[[], web.Response]
) -> None:
    google.broken = answer()

    status, body = await sign_in(door, "t")

    assert (status, body["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")


async def test_ten_concurrent_sign_ins_of_one_person_make_one_account(door: Door, google: GoogleServer) -> None:
    google.grant("t", sub="1", email="ada@example.com")

    outcomes = await asyncio.gather(*(sign_in(door, "t") for _ in range(10)))

    assert {status for status, _ in outcomes} == {200}
    assert len({body["user"]["id"] for _, body in outcomes}) == 1


async def test_sign_in_is_refused_without_a_client_id(open_door: OpenDoor) -> None:
    status, answer = await sign_in(await open_door(google_client_id=""), "t")

    assert (status, answer["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_a_blocked_account_cannot_sign_in_with_google(door: Door, google: GoogleServer) -> None:
    google.grant("t", sub="1", email="ada.l@gmail.com")
    _, body = await sign_in(door, "t")
    await door.block(body["user"]["id"])

    status, refused = await sign_in(door, "t")

    assert (status, refused["error"]["code"]) == (403, "PERMISSION_DENIED")


async def test_closed_registration_still_lets_linked_accounts_sign_in(
    open_door: OpenDoor, google: GoogleServer, door: Door
) -> None:
    google.grant("known", sub="1", email="ada@example.com")
    google.grant("stranger", sub="2", email="bea@example.com")
    await sign_in(door, "known")
    closed = await open_door(google_api_base=google.base, registration="closed")

    assert (await sign_in(closed, "known"))[0] == 200
    assert (await sign_in(closed, "stranger"))[0] == 403
