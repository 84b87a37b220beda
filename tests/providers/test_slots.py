"""How many calls a server handles at once is learned, and a server with one slot starves no book."""

from __future__ import annotations

import asyncio
import contextlib

from bookgen.providers.slots import Slots
from tests import virtual_time
from tests.providers.calls import chapter_request
from tests.providers.test_registry import build_text_model, settings


class HeldCalls:
    """Calls that begin and end when the test says so."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.open: list[contextlib.AsyncExitStack] = []

    async def begin(self):
        stack = contextlib.AsyncExitStack()
        slot = await stack.enter_async_context(self.slots.taken())
        self.open.append(stack)
        return slot

    async def end(self) -> None:
        await self.open.pop(0).aclose()


async def test_it_starts_with_one_call_and_adds_one_while_replies_stream_at_the_same_time() -> None:
    slots = Slots(4, learns=True)
    calls = HeldCalls(slots)

    limits = [slots.limit]
    for _ in range(4):
        (await calls.begin()).answered()
        limits.append(slots.limit)

    assert limits == [1, 2, 3, 4, 4]


async def two_calls(slots: Slots, *, told: float, after: float) -> None:
    """One reply streams for `told` seconds while the other waits, whose first word comes `after` seconds later."""
    calls = HeldCalls(slots)
    (await calls.begin()).answered()
    second = await calls.begin()
    await asyncio.sleep(told)
    await calls.end()
    await asyncio.sleep(after)
    second.answered()
    await calls.end()


def test_a_call_that_had_to_wait_reveals_the_number_of_slots() -> None:
    async def scenario() -> list[int]:
        slots, limits = Slots(16, learns=True), []
        for pause in (60, 120):
            await two_calls(slots, told=20, after=1)
            for seconds in (pause - 1, 1):
                await asyncio.sleep(seconds)
                limits.append(slots.limit)
        return limits

    assert virtual_time.run(scenario()) == [1, 2, 1, 2]


def test_a_short_reply_that_ends_before_the_next_one_starts_reveals_nothing() -> None:
    async def scenario() -> int:
        slots = Slots(16, learns=True)
        await two_calls(slots, told=0.01, after=0.4)
        return slots.limit

    assert virtual_time.run(scenario()) == 2


async def test_a_configured_number_is_not_changed() -> None:
    slots = Slots(3, learns=False)
    calls = HeldCalls(slots)

    for _ in range(3):
        await calls.begin()
    waiting = asyncio.create_task(calls.begin())
    await asyncio.sleep(0)
    assert not waiting.done()
    await calls.end()
    await waiting


async def test_two_books_are_both_written_on_a_server_with_one_slot(server) -> None:
    server.configure(slots=1, delay=0.05)
    model = build_text_model("openai:local", settings(server, timeout=None))

    replies = await asyncio.gather(*(model.complete(chapter_request(200)) for _ in range(6)))

    assert all(reply.text for reply in replies)
    assert [call.ended for call in server.requests] == ["answered"] * 6
    assert server.most_in_flight <= 2
    await model.close()


async def test_a_server_that_handles_many_calls_at_once_gets_many(server) -> None:
    server.configure(delay=0.05, chunk=20, chunk_delay=0.01)
    model = build_text_model("openai:local", settings(server, timeout=None))

    await asyncio.gather(*(model.complete(chapter_request(100)) for _ in range(10)))

    assert server.most_in_flight >= 3
    await model.close()
