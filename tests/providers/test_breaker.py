"""The circuit breaker: an unreachable provider is not called, and no book fails because of it."""

from __future__ import annotations

import asyncio

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.attempt import CallFailed, FailureKind, Provider
from bookgen.providers.breaker import CircuitBreaker
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.providers.waits import RetryRules
from tests.fakes.model_script import fault
from tests.providers.calls import chapter_request, chat, steady


class AbsentProvider(Provider):
    """A provider that is unreachable for the first `lasting` attempts."""

    name = "outage"

    def __init__(self, lasting: int) -> None:
        self._lasting = lasting
        self._at_once = self.most_at_once = 0

    async def attempt(self, request: TextRequest) -> TextReply:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(0)
        self._at_once -= 1
        self._lasting -= 1
        if self._lasting >= 0:
            raise CallFailed("is away", FailureKind.AWAY)
        return TextReply("text", StopReason.END, Usage(calls=1), self.name)

    def most(self, request: TextRequest) -> Usage:
        return Usage(calls=1)


async def test_it_opens_after_five_failures_in_a_row() -> None:
    breaker = CircuitBreaker(open_seconds=60)
    for _ in range(4):
        breaker.record_failure()
    assert breaker.closed

    breaker.record_failure()

    assert not breaker.closed


async def test_a_success_resets_the_failure_count() -> None:
    breaker = CircuitBreaker(threshold=2)
    breaker.record_failure()
    breaker.record_success()

    breaker.record_failure()

    assert breaker.closed


async def test_one_probe_is_admitted_and_its_success_admits_all() -> None:
    breaker = CircuitBreaker(threshold=1, open_seconds=0.01)
    breaker.record_failure()
    waiting = [asyncio.create_task(breaker.admitted()) for _ in range(5)]
    done, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [True]
    assert len(others) == 4

    breaker.record_success()

    assert await asyncio.gather(*others) == [False] * 4


async def test_an_abandoned_probe_is_passed_to_the_next_caller() -> None:
    breaker = CircuitBreaker(threshold=1, open_seconds=0)
    breaker.record_failure()
    assert await breaker.admitted()
    waiting = asyncio.create_task(breaker.admitted())
    await asyncio.sleep(0)

    breaker.let_go()

    assert await waiting


class HangingProbe(AbsentProvider):
    """Is away for one attempt. The next one, which is the probe, gets no answer; later ones do."""

    def __init__(self) -> None:
        super().__init__(lasting=1)
        self.attempts, self.probed = 0, asyncio.Event()

    async def attempt(self, request: TextRequest) -> TextReply:
        self.attempts += 1
        if self.attempts == 2:
            self.probed.set()
            await asyncio.Event().wait()
        return await super().attempt(request)


async def test_a_probe_whose_call_is_cancelled_is_passed_on() -> None:
    """As by a book that is stopped. Otherwise every call of every book would wait for its answer."""
    provider = HangingProbe()
    model = RetryingModel(
        provider,
        pacing=Pacing(concurrency=2),
        breaker=CircuitBreaker(threshold=1, open_seconds=0),
        rules=RetryRules(tries=3, first_delay=0.001),
    )
    stopped = asyncio.create_task(model.complete(chapter_request()))
    await provider.probed.wait()

    stopped.cancel()
    await asyncio.wait({stopped})

    async with asyncio.timeout(60):
        assert (await model.complete(chapter_request())).text == "text"


async def test_none_of_many_concurrent_calls_fails_because_of_an_outage() -> None:
    provider = AbsentProvider(lasting=60)
    model = RetryingModel(
        provider,
        pacing=Pacing(concurrency=16),
        breaker=CircuitBreaker(open_seconds=0.005),
        rules=RetryRules(tries=3, first_delay=0.001),
    )

    replies = await asyncio.gather(*(model.complete(chapter_request()) for _ in range(500)))

    assert {reply.text for reply in replies} == {"text"}
    assert provider.most_at_once <= 16


async def test_with_a_fallback_no_call_waits_for_the_breaker(server) -> None:
    server.script(fault("drop", times=50))
    model = steady(chat(server), tries=2, waits=False)
    for _ in range(3):
        with pytest.raises(UpstreamAIError):
            await model.complete(chapter_request())
    asked = len(server.requests)

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert error.value.retryable
    assert len(server.requests) - asked <= 1
    await model.close()


async def test_with_a_fallback_the_first_model_is_probed_again_in_time(server) -> None:
    server.script(fault("drop"))
    model = RetryingModel(
        chat(server),
        pacing=Pacing(concurrency=1),
        breaker=CircuitBreaker(threshold=1, open_seconds=0),
        rules=RetryRules(tries=1),
        waits=False,
    )
    with pytest.raises(UpstreamAIError):
        await model.complete(chapter_request())

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.END
    await model.close()


async def test_a_denied_call_counts_as_a_sign_that_the_server_is_reachable(server) -> None:
    server.script(fault("drop", times=4), fault("status", status=400), fault("drop", times=4))
    model = steady(chat(server), tries=9)
    with pytest.raises(UpstreamAIError):
        await model.complete(chapter_request())

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.END
    await model.close()
