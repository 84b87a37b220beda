"""A run waits through an outage, whatever the number of books, and it costs no try."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.halt import HaltSwitch
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import CallsHalted, StopReason
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.providers.calls import chapter_request, chat, steady

AWAY = {
    "5xx": fault("status", status=503, times=12),
    "reset": fault("drop", times=12),
    "500 once in a while": fault("status", status=500, times=12),
}


@pytest.mark.parametrize("step", AWAY.values(), ids=AWAY)
@pytest.mark.parametrize("books", [1, 20])
async def test_every_run_continues_after_an_outage(server, step, books) -> None:
    server.script(step)
    model = steady(chat(server), tries=2, outage=60, longest_delay=0.05)

    replies = await asyncio.gather(*(model.complete(chapter_request()) for _ in range(books)))

    assert {reply.stop for reply in replies} == {StopReason.END}
    assert sum(call.ended == "answered" and not call.fault for call in server.requests) == books
    await model.close()


async def test_an_unreachable_server_is_waited_for_and_each_book_makes_one_call(unused_tcp_port) -> None:
    gone = ModelServer(port=unused_tcp_port)
    gone.url = f"http://127.0.0.1:{unused_tcp_port}"
    model = steady(chat(gone), tries=2, outage=60, longest_delay=0.05)
    runs = [asyncio.create_task(model.complete(chapter_request())) for _ in range(5)]
    async with asyncio.timeout(30):
        while model.outage is None:  # noqa: ASYNC110 (a state that polls read)
            await asyncio.sleep(0.01)
    assert not any(run.done() for run in runs)
    assert "could not be reached" in model.outage.reason

    async with gone:
        replies = await asyncio.gather(*runs)

    assert {reply.stop for reply in replies} == {StopReason.END}
    assert model.outage is None
    assert len(gone.requests) == 5
    await model.close()


async def test_calls_held_back_by_a_busy_provider_show_it_until_they_are_answered(server) -> None:
    server.script(fault("status", status=429, retry_after=60, times=2))
    model, halts = steady(chat(server), outage=60), [HaltSwitch(), HaltSwitch()]
    runs = [asyncio.create_task(model.complete(replace(chapter_request(), halt=halt))) for halt in halts]
    async with asyncio.timeout(30):
        while model._gate.is_open or not all(halt.wait_reason for halt in halts):  # noqa: ASYNC110 (as polls read it)
            await asyncio.sleep(0.01)

    assert {halt.wait_reason.reason for halt in halts if halt.wait_reason} == {"is busy"}
    for run, halt in zip(runs, halts, strict=True):
        halt.set()
        with pytest.raises(CallsHalted):
            await run
    assert [halt.wait_reason for halt in halts] == [None, None]
    await model.close()


async def test_a_call_waiting_for_its_turn_shows_it_until_it_is_answered(server) -> None:
    server.script(fault("hold", times=2))
    model, halts = RetryingModel(chat(server), pacing=Pacing(concurrency=1)), [HaltSwitch(), HaltSwitch()]
    runs = [asyncio.create_task(model.complete(replace(chapter_request(), halt=halt))) for halt in halts]
    await server.arrived(1)

    assert halts[0].wait_reason is None
    assert halts[1].wait_reason
    assert halts[1].wait_reason.reason == "is busy with other calls of this server"
    server.release()
    await server.arrived(2)
    assert halts[1].wait_reason is None
    server.release()
    await asyncio.gather(*runs)
    await model.close()


async def test_an_outage_is_not_shown_when_no_call_waits_for_it(server) -> None:
    server.script(fault("drop", times=999))
    model, halt = steady(chat(server), outage=60, first_delay=60), HaltSwitch()
    runs = [asyncio.create_task(model.complete(replace(chapter_request(), halt=each))) for each in (halt, HaltSwitch())]
    async with asyncio.timeout(30):
        while model.outage is None:  # noqa: ASYNC110 (a state that polls read)
            await asyncio.sleep(0.01)

    halt.set()
    with pytest.raises(CallsHalted):
        await runs[0]
    assert model.outage is not None
    runs[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await runs[1]

    assert model.outage is None
    await model.close()


async def test_the_wait_for_a_provider_is_limited(server) -> None:
    server.script(fault("drop", times=999))
    model = steady(chat(server), outage=0.2, longest_delay=0.05)

    with pytest.raises(UpstreamAIError, match="unavailable for too long"):
        await model.complete(chapter_request())
    await model.close()


async def test_a_request_fails_soon_during_an_outage(server) -> None:
    server.script(fault("drop", times=999))
    model = steady(chat(server), tries=2, outage=60, longest_delay=0.05)

    with pytest.raises(UpstreamAIError):
        await model.complete(replace(chapter_request(), patience=5))

    assert len(server.requests) == 2
    await model.close()
