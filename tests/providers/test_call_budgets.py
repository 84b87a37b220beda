"""The cost of each try is reserved before it is sent, and released if the provider charges nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from bookgen.errors import CostCapReached, UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.access import Access
from bookgen.providers.images import PORTRAIT, ImageRequest
from bookgen.providers.prices import prices
from bookgen.providers.registry import ModelSettings, build_image_model, build_text_model
from bookgen.providers.text import Message, TextModel
from tests.fakes.image_server import USAGE, ImageServer, painted
from tests.fakes.model_server import ModelServer, fault
from tests.providers.calls import chapter_request

SONNET, TERRA = "anthropic:claude-sonnet-5-5", "openai:gpt-6.1-terra"


class Room:
    """A CallBudget that allows this many tries."""

    def __init__(self, tries: int = 100) -> None:
        self.tries = tries
        self.made: dict[UUID, tuple[str, Usage]] = {}
        self.given_back: list[UUID] = []

    async def reserve(self, call_id: UUID, model: str, most: Usage) -> None:
        if len(self.made) == self.tries:
            raise CostCapReached(stage="chapter", retryable=True)
        self.made[call_id] = model, most

    async def release(self, call_id: UUID) -> None:
        self.given_back.append(call_id)


def model(server: ModelServer, *, fallback: str = "") -> TextModel:
    access = {"anthropic": Access("key", server.anthropic_url), "openai": Access("key", server.openai_url)}
    return build_text_model(SONNET, ModelSettings(access=access, retry_delay=0.01), fallback=fallback)


async def asked(server: ModelServer, room: Room, *, fallback: str = "", **fields: object) -> tuple[UUID, ...]:
    """The ids of the calls that were charged."""
    request = replace(chapter_request(), budget=room, **fields)  # type: ignore[arg-type]
    asked_model = model(server, fallback=fallback)
    try:
        return tuple(spent.call_id for spent in (await asked_model.complete(request)).spent)
    finally:
        await asked_model.close()


async def test_a_try_that_costs_nothing_releases_its_reservation(server: ModelServer) -> None:
    room = Room()
    server.script(fault("status", status=500), fault("status", status=429, retry_after=0))

    (answered,) = await asked(server, room)

    assert list(room.made) == [*room.given_back, answered]
    assert len(room.given_back) == 2


async def test_a_try_that_broke_off_keeps_its_reservation_and_is_recorded(server: ModelServer) -> None:
    room = Room()
    server.script(fault("cut"))

    told, answered = await asked(server, room)

    assert told not in room.made
    assert (list(room.made)[1:], room.given_back) == ([answered], [])


async def test_a_try_without_budget_is_not_sent_and_earlier_cost_is_reported(server: ModelServer) -> None:
    room = Room(tries=1)
    server.script(fault("cut"))

    with pytest.raises(CostCapReached) as refused:
        await asked(server, room)

    assert [spent.usage.calls for spent in refused.value.spent] == [1]
    assert len(server.requests) == 1


async def test_the_fallback_model_needs_its_own_reservation(server: ModelServer) -> None:
    room = Room()
    server.script(fault("refusal", protocol="anthropic"))

    assert await asked(server, room, fallback=TERRA) == tuple(room.made)
    assert [name for name, _ in room.made.values()] == [SONNET, TERRA]


async def test_the_fallback_is_not_called_when_the_budget_is_used_up(server: ModelServer) -> None:
    with pytest.raises(CostCapReached):
        await asked(server, Room(tries=0), fallback=TERRA)

    assert server.requests == []


async def test_a_call_cancelled_in_mid_reply_keeps_its_reservation(server: ModelServer) -> None:
    room = Room()
    server.script(fault("stall"))
    asking = asyncio.create_task(asked(server, room))
    await server.arrived(1)

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (len(room.made), room.given_back) == (1, [])


async def test_a_refused_key_costs_nothing(server: ModelServer) -> None:
    room = Room()
    server.script(fault("status", status=401))

    with pytest.raises(UpstreamAIError):
        await asked(server, room, patience=1.0)

    assert room.given_back == list(room.made)


async def test_a_reservation_covers_the_most_that_a_call_can_use(server: ModelServer) -> None:
    room = Room()
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}

    await asked(server, room, messages=(Message("user", "The keeper climbed. " * 400),), schema=schema)

    ((name, most),) = room.made.values()
    body = server.requests[0].body
    used = server.ledger
    assert most.output_tokens >= body["max_tokens"] >= used["output"]
    assert most.input_tokens >= used["input"] + used["cache_write"] + used["cache_read"]
    assert (name, most.calls) == (SONNET, 1)


async def test_the_reservation_of_a_picture_covers_its_references_and_the_highest_quality() -> None:
    async with ImageServer() as images:
        access = {"openai": Access("key", images.url)}
        painter = build_image_model("openai", ModelSettings(access=access, retry_delay=0.01))
        assert painter is not None
        room = Room()
        request = ImageRequest("cover", "A lighthouse.", PORTRAIT, 1, 1.0, references=(painted(8, 8),) * 2, budget=room)
        reply = await painter.paint(request)
        await painter.close()

    ((name, most),) = room.made.values()
    assert [spent.call_id for spent in reply.spent] == list(room.made)
    assert most.output_tokens >= 6_240 > USAGE["output_tokens"]
    assert most.input_tokens >= 2 * 6_240
    assert prices().of(name) is not None
