"""Every fault ends as documented, on every protocol, through the real SDKs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bookgen.errors import UpstreamAIError
from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.fallback import FallbackModel
from bookgen.providers.headers import retry_after
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import StopReason
from bookgen.providers.waits import RetryRules
from tests.fakes.model_script import fault
from tests.providers.calls import PROVIDERS, chapter_request, chat, steady, used
from tests.providers.documented import FAULTS, Documented, outcome

ANY = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)


def label(documented: Documented) -> str:
    return "-".join([documented.step.kind, *(str(value) for value in documented.step.options.values())])


@pytest.mark.parametrize("profile", PROVIDERS)
@pytest.mark.parametrize("documented", FAULTS, ids=label)
async def test_each_fault_ends_as_documented(profile: str, documented: Documented) -> None:
    ended = await outcome(profile, documented)

    assert (ended.ends, ended.calls) == (documented.ends, documented.calls)
    assert ended.waited >= documented.waits
    assert bool(ended.text) == (documented.ends in (StopReason.END, StopReason.LENGTH, StopReason.LOOP))


@ANY
async def test_an_error_names_the_call_and_says_whether_to_retry(server, make) -> None:
    server.script(fault("status", status=500, times=9))
    model = steady(make(server))

    with capture_logs() as logs, pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert error.value.stage == "chapter"
    assert error.value.chapter_number == 3
    assert error.value.retryable
    said = [line["to_do"] for line in logs if line["event"] == "model_call_failed"]
    assert said
    assert all(said)
    await model.close()


@pytest.mark.parametrize("kind", FailureKind)
def test_a_failure_without_a_cure_still_says_what_to_do(kind: FailureKind) -> None:
    assert CallFailed("failed", kind).log_to_do


@ANY
async def test_a_busy_provider_does_not_use_up_tries(server, make) -> None:
    server.script(fault("status", status=429, retry_after=0.02, times=5))
    model = steady(make(server), tries=1)

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.END
    assert len(server.requests) == 6
    await model.close()


@pytest.mark.parametrize("asked", [0, "date:-60"])
async def test_a_busy_provider_that_asks_for_no_pause_still_gets_one(server, asked) -> None:
    server.script(fault("status", status=429, retry_after=asked, times=2))
    model = steady(chat(server), first_delay=0.2)

    await model.complete(chapter_request())

    first, second, third = server.arrivals
    assert min(second - first, third - second) >= 0.19
    await model.close()


@ANY
async def test_calls_queued_before_a_provider_was_busy_wait_with_the_others(server, make) -> None:
    server.script(fault("status", status=429, retry_after=0.3))
    provider = make(server)
    model = RetryingModel(provider, pacing=Pacing(concurrency=1), rules=RetryRules(first_delay=0.01))

    await asyncio.gather(*(model.complete(chapter_request()) for _ in range(4)))

    assert len(server.requests) == 5
    assert server.arrivals[1] - server.arrivals[0] >= 0.3
    await model.close()


async def test_a_process_told_of_a_busy_provider_waits_too(server) -> None:
    server.script(fault("status", status=429, retry_after=0.3))
    hears, other, told = steady(chat(server)), steady(chat(server)), asyncio.Event()
    here, elsewhere = FallbackModel(hears, hears), FallbackModel(other, other)

    def tell(name: str, seconds: float) -> None:
        elsewhere.hold_back("openai:another", 60)
        elsewhere.hold_back(name, seconds)
        told.set()

    here.tell_busy(tell)
    calling = asyncio.create_task(here.complete(chapter_request()))
    await told.wait()
    await elsewhere.complete(chapter_request())
    await calling

    assert min(server.arrivals[1:]) - server.arrivals[0] >= 0.29
    assert max(server.arrivals) - server.arrivals[0] < 30
    await here.close()
    await elsewhere.close()


@ANY
async def test_a_wait_never_exceeds_its_maximum(server, make) -> None:
    server.script(fault("status", status=429, retry_after=3600))
    model = steady(make(server), longest_wait=0.1)

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.END
    await model.close()


@ANY
async def test_waiting_for_a_busy_provider_ends_at_a_limit(server, make) -> None:
    server.script(fault("status", status=429, retry_after=0.05, times=999))
    model = steady(make(server), patience=0.3)

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert error.value.retryable
    await model.close()


@ANY
async def test_a_caller_with_a_short_patience_gets_the_error_soon(server, make) -> None:
    server.script(fault("status", status=503, times=999))
    model = steady(make(server), tries=99)

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(replace(chapter_request(), patience=0.3))

    assert error.value.retryable
    await model.close()


async def test_an_account_without_credit_is_not_retried(server) -> None:
    server.script(fault("status", status=429, code="insufficient_quota", message="You exceeded your quota"))
    model = steady(PROVIDERS["responses"](server))

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert not error.value.retryable
    await model.close()


@ANY
async def test_silence_before_the_headers_ends_at_the_first_byte_deadline(server, make) -> None:
    server.script(fault("hang"))
    provider = make(server, Deadlines(connect=0.1, first_byte=0.3, idle=5, total=5))

    await assert_ends_within(provider, 0.2, 2)


@ANY
async def test_silence_in_a_stream_ends_at_the_idle_deadline(server, make) -> None:
    server.script(fault("stall"))
    provider = make(server, Deadlines(connect=1, first_byte=5, idle=0.3, total=5))

    await assert_ends_within(provider, 0.2, 2)


@ANY
async def test_a_slow_trickle_ends_at_the_total_deadline(server, make) -> None:
    server.script(fault("drip", interval=0.1))
    provider = make(server, Deadlines(connect=1, first_byte=2, idle=2, total=0.8))

    await assert_ends_within(provider, 0.7, 3, FailureKind.GARBLED)


async def assert_ends_within(provider, least: float, most: float, kind: FailureKind = FailureKind.AWAY) -> None:
    await provider._client()  # importing an SDK is not part of the measurement
    started = time.monotonic()
    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request(600))

    assert least <= time.monotonic() - started <= most
    assert failed.value.failure is kind
    await provider.close()


@ANY
async def test_an_unreachable_server_is_away(server, make) -> None:
    provider = make(server)
    await server.__aexit__()

    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request())

    assert failed.value.failure is FailureKind.AWAY
    await provider.close()


@ANY
@pytest.mark.parametrize("kind", ["hang", "stall"])
async def test_cancelling_closes_the_connection(server, make, kind) -> None:
    server.script(fault(kind))
    provider = make(server, Deadlines())
    call = asyncio.create_task(provider.attempt(chapter_request()))
    request = await server.arrived(1)
    await asyncio.sleep(0)

    call.cancel()

    async with asyncio.timeout(2):
        await server.until(lambda: request.ended == "left")
    assert call.cancelled()
    await provider.close()


@ANY
async def test_the_usage_of_a_broken_try_is_what_the_server_reported(server, make) -> None:
    server.script(fault("cut"), fault("error_event"))
    model = steady(make(server))

    reply = await model.complete(chapter_request())

    usage = used(reply.also) + reply.usage
    assert {each.usage.calls for each in reply.also} <= {1}
    assert usage.calls == server.ledger["calls"]
    assert usage.input_tokens == server.ledger["input"]
    assert usage.output_tokens == server.ledger["output"]
    await model.close()


@ANY
async def test_a_server_that_reports_no_usage_is_counted_by_length(server, make) -> None:
    server.configure(usage=False)
    model = steady(make(server))

    reply = await model.complete(chapter_request(400))

    assert reply.usage.calls == 1
    assert reply.usage.output_tokens == pytest.approx(len(reply.text) / 4, rel=0.05)
    assert reply.usage.input_tokens > 0
    await model.close()


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "3"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_the_retry_delay_of_a_provider_is_read_in_every_format(said: dict[str, str], seconds: float | None) -> None:
    assert retry_after(said) == seconds
