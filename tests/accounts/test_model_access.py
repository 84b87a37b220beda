"""Free books at the operator's cost: who may use the model, and how many accounts may register."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bookgen.billing import credits
from bookgen.http.routes import BOOKS, CHAPTERS, PROOFREADING
from bookgen.models import CreditKind
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.providers.text import TextModel
from bookgen.rate_limits import LimitClass
from tests.accounts.door import PASSWORD, Door, OpenDoor
from tests.http.spending import TEXT_MODEL, BillingModels

MODEL_CALLS = [route.path for route in (*BOOKS, *CHAPTERS, *PROOFREADING) if route.limit is LimitClass.EXPENSIVE]
HOME = "203.0.113.9"


@pytest.fixture
async def model() -> AsyncIterator[TextModel]:
    async with BillingModels() as models:
        access = {"anthropic": Access("key", models.anthropic_url)}
        yield build_text_model(TEXT_MODEL, ModelSettings(access=access))
        assert models.billed == 0


async def register(door: Door, name: str, address: str = HOME) -> int:
    form = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    status, _ = await door.post("/auth/register/", form, headers={"X-Forwarded-For": address})
    return status


async def ask_models(door: Door, token: str) -> set[tuple[int, str]]:
    """The statuses and codes of every call that uses a model, for books that do not exist."""
    assert len(MODEL_CALLS) == 9
    answers = [await door.post(path.replace("{id}", "404"), token=token) for path in MODEL_CALLS]
    return {(status, answer["error"]["code"]) for status, answer in answers}


async def test_a_free_account_with_an_unverified_address_cannot_use_the_model(
    open_door: OpenDoor, model: TextModel
) -> None:
    door = await open_door(model=model, rate_expensive="100/minute")
    token = (await door.register("ada", headers={"X-Forwarded-For": HOME}))["tokens"]["access"]
    assert (await door.post("/books/", {"title": "A draft"}, token=token))[0] == 201

    before = await ask_models(door, token)
    assert (await door.call("GET", await door.link("verify-email"), token=token))[0] == 200

    assert before == {(403, "PERMISSION_DENIED")}
    assert (403, "PERMISSION_DENIED") not in await ask_models(door, token)


async def test_an_account_with_credits_needs_no_verified_address(open_door: OpenDoor, model: TextModel) -> None:
    door = await open_door(model=model, rate_expensive="100/minute")
    ada = await door.register("ada", headers={"X-Forwarded-For": HOME})
    token = ada["tokens"]["access"]

    async with door.database.http.acquire() as connection, connection.transaction():
        await credits.grant(connection, ada["user"]["id"], 1, 50_000, CreditKind.PURCHASE, "1 credit bought")

    assert (403, "PERMISSION_DENIED") not in await ask_models(door, token)


@pytest.mark.parametrize("settings", [{"billing": "off"}, {"registration": "closed"}])
async def test_no_address_needs_to_be_verified_where_free_use_costs_nothing(
    open_door: OpenDoor, model: TextModel, settings: dict[str, str]
) -> None:
    home = await open_door(billing="off")
    token = (await home.register("ada", headers={"X-Forwarded-For": HOME}))["tokens"]["access"]
    door = await open_door(model=model, rate_expensive="100/minute", **settings)

    assert (403, "PERMISSION_DENIED") not in await ask_models(door, token)


async def test_twenty_concurrent_registrations_from_one_address_make_five_accounts(
    open_door: OpenDoor, model: TextModel
) -> None:
    door = await open_door(model=model)

    outcomes = await asyncio.gather(*(register(door, f"reader{number}") for number in range(20)))

    assert sorted(outcomes) == [201] * 5 + [429] * 15
    assert await register(door, "bea", "198.51.100.1") == 201


@pytest.mark.parametrize("around", ["203.0.113.{}", "2001:db8:1:{}::1"])
async def test_neighbouring_addresses_share_a_limit(open_door: OpenDoor, model: TextModel, around: str) -> None:
    door = await open_door(model=model)

    outcomes = [await register(door, f"reader{number}", around.format(number)) for number in range(1, 26)]

    assert outcomes == [201] * 20 + [429] * 5


async def test_a_refused_registration_names_the_limit_and_is_not_counted(open_door: OpenDoor, model: TextModel) -> None:
    door = await open_door(model=model)
    for number in range(5):
        await register(door, f"reader{number}")

    form = {"username": "late", "email": "late@example.com", "password": PASSWORD}
    status, answer = await door.post("/auth/register/", form, headers={"X-Forwarded-For": HOME})

    assert (status, answer["error"]["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert answer["error"]["details"]["scope"] == "network"
    assert await door.database.http.fetchval("SELECT max(accounts) FROM registration") == 5
    assert await door.database.http.fetchval("SELECT count(*) FROM account") == 5
