"""A provider that refuses the server's key or credit fails no run: it is waited for as long as it takes.

The clock is virtual. Everything else is real: the intervals, the retries, the SDK, the sockets.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bookgen.errors import UpstreamAIError
from bookgen.providers.access import Access
from bookgen.providers.halt import HaltSwitch
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.providers.text import CallsHalted, TextModel, TextReply
from tests.fakes.model_script import ScriptedFault, fault
from tests.fakes.model_server import ModelServer
from tests.providers.calls import chapter_request
from tests.virtual_time import run

FOREVER = 10**9
OUTAGE = 3_600.0  # seconds that a run waits for an unreachable model
ANTHROPIC, CHAT, RESPONSES = "anthropic:claude-sonnet-5-5", "openai:local", "openai:gpt-6.1-terra"
BALANCE = "Your credit balance is too low to access the Anthropic API."
KEY, CREDIT = "does not accept this server's key", "says that this server has no credit left"
REFUSALS = [
    (ANTHROPIC, fault("status", status=401, times=FOREVER), KEY),
    (ANTHROPIC, fault("status", status=400, message=BALANCE, times=FOREVER), CREDIT),
    (CHAT, fault("status", status=401, times=FOREVER), KEY),
    (CHAT, fault("status", status=403, message="Your key has no permission for it", times=FOREVER), KEY),
    (CHAT, fault("status", status=402, times=FOREVER), CREDIT),
    (CHAT, fault("status", status=429, code="insufficient_quota", times=FOREVER), CREDIT),
    (RESPONSES, fault("status", status=429, code="insufficient_quota", times=FOREVER), CREDIT),
    (CHAT, fault("error_event", code="insufficient_quota", after=0, times=FOREVER), CREDIT),
]


def model_at(server: ModelServer, name: str, fallback: str = "") -> TextModel:
    urls = {"anthropic": server.anthropic_url, "openai": server.openai_url if name == RESPONSES else server.url}
    access = {provider: Access("k" * 20, url=url) for provider, url in urls.items()}
    return build_text_model(name, ModelSettings(access, concurrency=8, outage=OUTAGE), fallback=fallback)


@pytest.mark.parametrize(("name", "refusal", "reason"), REFUSALS)
def test_runs_wait_through_a_lockout_and_retry_rarely(name: str, refusal: ScriptedFault, reason: str) -> None:
    lasting = 2 * OUTAGE

    async def scenario() -> None:
        async with ModelServer() as server:
            server.script(refusal)
            model, halts = model_at(server, name), [HaltSwitch() for _ in range(3)]
            with capture_logs() as logs:
                calls = [
                    asyncio.create_task(model.complete(replace(chapter_request(), account_id=number, halt=halt)))
                    for number, halt in enumerate(halts)
                ]
                await asyncio.sleep(lasting)
                asked, waits, refused = len(server.requests), [halt.wait_reason for halt in halts], model.refusals
                server.forget_script()
                replies = await asyncio.gather(*calls)
            await model.close()
        told = [line["event"] for line in logs if line["log_level"] in ("warning", "error")]
        assert all(reply.text for reply in replies)
        assert asked <= len(halts) + lasting / 300 + 5
        assert told == ["model_call_failed"]
        assert all(wait and wait.by_operator and wait.until is None and wait.reason == reason for wait in waits)
        assert [each.reason for each in refused.values()] == [reason]
        assert not model.refusals

    run(scenario())


def test_a_request_fails_at_once_during_a_lockout_and_detects_its_end() -> None:
    async def scenario() -> None:
        async with ModelServer() as server:
            server.script(fault("status", status=401, times=FOREVER))
            model, loop = model_at(server, CHAT), asyncio.get_running_loop()
            of_run = asyncio.create_task(model.complete(chapter_request()))
            await asyncio.sleep(3_600)

            asked = loop.time()
            for _ in range(3):
                with pytest.raises(UpstreamAIError, match="does not accept this server's key") as refused:
                    await model.complete(replace(chapter_request(), patience=45.0))
                assert not refused.value.retryable
            server.forget_script()
            assert (await model.complete(replace(chapter_request(), patience=45.0))).text
            assert (await of_run).text
            took = loop.time() - asked
            await model.close()
        assert took < 30  # and the run has not waited for its own next try

    run(scenario())


def test_refused_requests_do_not_delay_the_runs() -> None:
    async def scenario() -> float:
        async with ModelServer() as server:
            server.script(fault("status", status=401, times=FOREVER))
            model, loop = model_at(server, CHAT), asyncio.get_running_loop()
            of_run = asyncio.create_task(model.complete(chapter_request()))
            for _ in range(30):
                await asyncio.sleep(20)
                with pytest.raises(UpstreamAIError):
                    await model.complete(replace(chapter_request(), patience=45.0))
            server.forget_script()
            mended = loop.time()
            await of_run
            took = loop.time() - mended
            await model.close()
        return took

    assert run(scenario()) <= 310


def test_a_pause_ends_the_wait_for_a_lockout() -> None:
    async def scenario() -> None:
        async with ModelServer() as server:
            server.script(fault("status", status=402, times=FOREVER))
            model, halts = model_at(server, CHAT), [HaltSwitch(), HaltSwitch()]
            calls = [asyncio.create_task(model.complete(replace(chapter_request(), halt=halt))) for halt in halts]
            await asyncio.sleep(600)

            for halt in halts:
                halt.set()
            for call in calls:
                with pytest.raises(CallsHalted):
                    await call
            server.forget_script()
            assert (await model.complete(chapter_request())).text
            await model.close()

    run(scenario())


def test_a_refusal_of_one_call_does_not_hold_back_others() -> None:
    async def scenario() -> None:
        async with ModelServer() as server:
            refusal = fault("status", status=403, message="Not for you", stage="chapter", chapter_number=7, times=3)
            server.script(refusal)
            model = model_at(server, CHAT)
            alone = asyncio.create_task(model.complete(replace(chapter_request(chapter_number=7), chapter_number=7)))
            await server.arrived(1)

            asked = asyncio.get_running_loop().time()
            assert (await model.complete(chapter_request())).text
            assert asyncio.get_running_loop().time() - asked < 10
            assert not alone.done()
            assert (await alone).text
            await model.close()

    run(scenario())


def test_a_fallback_replies_while_the_first_model_refuses() -> None:
    async def scenario() -> TextReply:
        async with ModelServer() as server:
            server.script(fault("status", status=401, times=FOREVER, protocol="anthropic"))
            model = model_at(server, ANTHROPIC, fallback=CHAT)
            reply = await model.complete(chapter_request())
            assert [*model.refusals] == [ANTHROPIC]
            await model.close()
        return reply

    assert run(scenario()).model == CHAT
