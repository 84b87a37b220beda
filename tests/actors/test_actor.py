"""The mailbox of an actor."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from bookgen.actors.actor import MAX_WAITING, Actor
from bookgen.errors import Conflict, RateLimited, Unavailable


class Echo(Actor):
    """Answers with the message. `gate` keeps it busy."""

    def __init__(self) -> None:
        super().__init__()
        self.crashes: list[Exception] = []
        self.heard: list[Any] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def crashed(self, error: Exception) -> None:
        self.crashes.append(error)

    async def receive(self, message: Any) -> Any:
        await self.gate.wait()
        self.heard.append(message)
        if isinstance(message, Exception):
            raise message
        return message


async def test_messages_are_handled_in_the_order_they_arrive() -> None:
    actor = Echo()

    for number in range(10):
        actor.tell(number)
    await actor.ask("last")

    assert actor.heard == [*range(10), "last"]


async def test_an_idle_actor_has_no_task_and_no_mailbox() -> None:
    actor = Echo()
    assert actor.idle

    await actor.ask(1)
    await asyncio.sleep(0)

    assert actor.idle
    assert actor._inbox is None


async def test_a_crashed_actor_ignores_further_messages() -> None:
    actor = Echo()
    actor.tell(ZeroDivisionError())
    await asyncio.sleep(0)
    assert actor.crashes

    actor.tell("late")
    with pytest.raises(Unavailable):
        await actor.ask("later")

    assert actor.idle
    assert [type(message) for message in actor.heard] == [ZeroDivisionError]


async def test_a_domain_error_is_raised_to_the_caller_and_the_actor_survives() -> None:
    actor = Echo()

    with pytest.raises(Conflict):
        await actor.ask(Conflict())

    assert await actor.ask(1) == 1
    assert not actor.crashes


async def test_an_error_in_a_request_is_raised_to_its_caller_only() -> None:
    actor = Echo()
    actor.gate.clear()
    asks = [asyncio.ensure_future(actor.ask(message)) for message in (ValueError("bug"), 2)]
    await asyncio.sleep(0)

    actor.gate.set()
    answers = await asyncio.gather(*asks, return_exceptions=True)

    assert [type(answer) for answer in answers] == [ValueError, int]
    assert not actor.crashes


async def test_an_error_in_a_one_way_message_crashes_the_actor_and_fails_waiting_callers() -> None:
    actor = Echo()
    actor.gate.clear()
    actor.tell(ValueError("bug"))
    asked = asyncio.ensure_future(actor.ask(2))
    await asyncio.sleep(0)

    actor.gate.set()

    with pytest.raises(Unavailable):
        await asked
    assert len(actor.crashes) == 1


async def test_a_full_mailbox_refuses_commands_and_loses_no_message() -> None:
    actor = Echo()
    actor.gate.clear()
    actor.tell("busy")
    await asyncio.sleep(0)
    asks = [asyncio.ensure_future(actor.ask(number)) for number in range(MAX_WAITING)]
    await asyncio.sleep(0)

    with pytest.raises(RateLimited):
        await actor.ask("too many")

    actor.tell("an event is never refused")
    actor.gate.set()
    assert await asyncio.gather(*asks) == list(range(MAX_WAITING))


async def test_a_caller_that_times_out_does_not_withdraw_its_message() -> None:
    actor = Echo()
    actor.gate.clear()

    with pytest.raises(Unavailable):
        await actor.ask("late", seconds=0.01)

    actor.gate.set()
    await actor.ask("next")
    assert actor.heard == ["late", "next"]


async def test_an_error_whose_caller_has_timed_out_is_logged() -> None:
    actor = Echo()
    actor.gate.clear()
    for error in (ZeroDivisionError("a bug"), Conflict("no bug")):
        with pytest.raises(Unavailable):
            await actor.ask(error, seconds=0.01)

    with capture_logs() as logs:
        actor.gate.set()
        await actor.ask("next")

    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("error_without_caller", "error")]
    assert not actor.crashes
