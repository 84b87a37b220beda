"""A call that is no longer wanted is not retried and does not wait."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookgen.models import Usage
from bookgen.providers.attempt import CallFailed, FailureKind, Provider
from bookgen.providers.breaker import CircuitBreaker
from bookgen.providers.fallback import FallbackModel
from bookgen.providers.halt import HaltSwitch
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import CallsHalted, StopReason, TextReply, TextRequest, spent_before
from bookgen.providers.waits import RetryRules
from tests.providers.calls import chapter_request


class Gate(Provider):
    """A provider that answers, or fails with `failing`, once it is released."""

    name = "gate"

    def __init__(self, failing: FailureKind | None = None) -> None:
        self.failing = failing
        self.tried = 0
        self.trying, self.let_go = asyncio.Event(), asyncio.Event()

    async def attempt(self, request: TextRequest) -> TextReply:
        self.tried += 1
        self.trying.set()
        await self.let_go.wait()
        if self.failing is None:
            return TextReply("text", StopReason.END, Usage(calls=1), self.name)
        failed = CallFailed("failed", self.failing)
        failed.usage = Usage(calls=1, output_tokens=7)
        raise failed

    def most(self, request: TextRequest) -> Usage:
        return Usage(calls=1)


def patient(provider: Gate) -> RetryingModel:
    """A model with a back-off of minutes."""
    return RetryingModel(
        provider,
        pacing=Pacing(concurrency=1),
        breaker=CircuitBreaker(threshold=1, open_seconds=60) if provider.failing is FailureKind.AWAY else None,
        rules=RetryRules(first_delay=60, busy_delay=60),
    )


@pytest.mark.parametrize("failing", [FailureKind.AWAY, FailureKind.BUSY, FailureKind.GARBLED])
async def test_a_failed_call_is_not_retried_after_a_halt_and_reports_its_usage(failing: FailureKind) -> None:
    provider, halt = Gate(failing), HaltSwitch()
    call = asyncio.create_task(patient(provider).complete(replace(chapter_request(), halt=halt)))
    await provider.trying.wait()

    halt.set()
    provider.let_go.set()

    with pytest.raises(CallsHalted) as halted:
        async with asyncio.timeout(5):
            await call
    assert provider.tried == 1
    assert [spent.usage.output_tokens for spent in halted.value.spent] == [7]


@pytest.mark.parametrize("failing", [FailureKind.AWAY, FailureKind.BUSY, FailureKind.GARBLED])
async def test_a_halt_ends_the_wait_for_the_next_try(failing: FailureKind) -> None:
    provider, halt = Gate(failing), HaltSwitch()
    provider.let_go.set()
    call = asyncio.create_task(patient(provider).complete(replace(chapter_request(), halt=halt)))
    await provider.trying.wait()
    for _ in range(10):  # until it waits
        await asyncio.sleep(0)

    halt.set()

    with pytest.raises(CallsHalted):
        async with asyncio.timeout(5):
            await call
    assert provider.tried == 1


async def test_a_halt_removes_a_queued_call_and_leaves_the_one_before_it_alone() -> None:
    provider, halt = Gate(), HaltSwitch()
    model = patient(provider)
    first = asyncio.create_task(model.complete(replace(chapter_request(), halt=HaltSwitch())))
    await provider.trying.wait()
    second = asyncio.create_task(model.complete(replace(chapter_request(), halt=halt)))
    for _ in range(10):
        await asyncio.sleep(0)

    halt.set()

    with pytest.raises(CallsHalted):
        async with asyncio.timeout(5):
            await second
    provider.let_go.set()
    assert (await first).text == (await model.complete(chapter_request())).text == "text"


async def test_a_call_in_flight_is_answered_and_a_cleared_halt_allows_the_next() -> None:
    provider, halt = Gate(), HaltSwitch()
    model = patient(provider)
    call = asyncio.create_task(model.complete(replace(chapter_request(), halt=halt)))
    await provider.trying.wait()

    halt.set()
    provider.let_go.set()

    assert (await call).text == "text"
    halt.clear()
    assert (await model.complete(replace(chapter_request(), halt=halt))).text == "text"


async def test_the_fallback_is_not_called_after_a_halt() -> None:
    first, second, halt = Gate(FailureKind.DENIED), Gate(), HaltSwitch()
    second.let_go.set()
    call = asyncio.create_task(
        FallbackModel(patient(first), patient(second)).complete(replace(chapter_request(), halt=halt))
    )
    await first.trying.wait()

    halt.set()
    first.let_go.set()

    with pytest.raises(CallsHalted) as halted:
        await call
    assert second.tried == 0
    assert [spent.usage.output_tokens for spent in halted.value.spent] == [7]


async def test_a_call_cancelled_between_its_tries_reports_its_usage() -> None:
    provider = Gate(FailureKind.GARBLED)
    provider.let_go.set()
    call = asyncio.create_task(patient(provider).complete(chapter_request()))
    await provider.trying.wait()
    for _ in range(10):  # until it waits for the next try
        await asyncio.sleep(0)

    call.cancel()

    with pytest.raises(asyncio.CancelledError) as cancelled:
        await call
    assert [spent.usage.output_tokens for spent in spent_before(cancelled.value)] == [7]


async def test_a_call_cancelled_at_the_fallback_reports_the_usage_of_the_first_model() -> None:
    first, second = Gate(FailureKind.DENIED), Gate()
    first.let_go.set()
    call = asyncio.create_task(FallbackModel(patient(first), patient(second)).complete(chapter_request()))
    await second.trying.wait()

    call.cancel()

    with pytest.raises(asyncio.CancelledError) as cancelled:
        await call
    assert [spent.usage.output_tokens for spent in spent_before(cancelled.value)] == [7]
