"""Every try of a model call is counted, with its outcome, its cost and its wait."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import REGISTRY

from bookgen.errors import UpstreamAIError
from bookgen.providers.prices import prices
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.providers.calls import anthropic, chapter_request, steady

NAMED = {"provider": "anthropic", "model": "claude-sonnet-5-5"}


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, {**NAMED, **labels}) or 0.0


def calls() -> dict[str, float]:
    outcomes = ("ok", "refused", "busy", "away", "garbled", "locked_out", "denied", "cancelled")
    return {outcome: value("bookgen_model_calls_total", outcome=outcome) for outcome in outcomes}


async def test_tries_are_counted_by_outcome(server: ModelServer) -> None:
    model, before = steady(anthropic(server), tries=5), calls()
    server.script(fault("status", status=429), fault("status", status=500), fault("html"), fault("refusal", text="No."))

    await model.complete(chapter_request())
    server.script(fault("status", status=400))
    with pytest.raises(UpstreamAIError):
        await model.complete(chapter_request())

    after = calls()
    grown = {outcome: after[outcome] - before[outcome] for outcome in after if after[outcome] > before[outcome]}
    assert grown == {"busy": 1, "away": 1, "garbled": 1, "refused": 1, "denied": 1}
    await model.close()


async def test_tokens_and_their_cost_are_counted(server: ModelServer) -> None:
    model = steady(anthropic(server))
    kinds, currency = ("input", "output"), prices().currency
    before = [value("bookgen_model_tokens_total", kind=kind) for kind in kinds]
    paid = value("bookgen_model_cost_total", currency=currency)

    reply = await model.complete(chapter_request())

    after = [value("bookgen_model_tokens_total", kind=kind) for kind in kinds]
    assert [now - then for now, then in zip(after, before, strict=True)] == [
        reply.usage.input_tokens, reply.usage.output_tokens,
    ]  # fmt: skip
    cost = prices().priced(reply.usage, model.name).cost_micros / 1_000_000
    assert value("bookgen_model_cost_total", currency=currency) - paid == pytest.approx(cost)
    assert cost > 0
    await model.close()


async def test_an_open_breaker_and_its_waiting_calls_are_in_the_metrics(server: ModelServer) -> None:
    server.script(fault("drop", times=5), fault("hold"))
    model = steady(anthropic(server), tries=9)
    asked = asyncio.create_task(model.complete(chapter_request()))
    await server.until(lambda: len(server.requests) == 6)  # the probe
    waits = asyncio.create_task(model.complete(chapter_request()))
    await asyncio.sleep(0)

    assert value("bookgen_model_breaker_open") == 1
    assert value("bookgen_model_calls_waiting") == 1

    server.release()
    await asyncio.gather(asked, waits)
    assert value("bookgen_model_breaker_open") == 0
    assert value("bookgen_model_calls_waiting") == 0
    await model.close()
