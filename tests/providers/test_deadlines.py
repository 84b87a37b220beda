"""Deadlines follow the speed that a server has shown, and text received before a deadline is used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.access import Access
from bookgen.providers.deadlines import UNSEEN_FIRST_BYTE, Deadlines, Speed
from bookgen.providers.openai import OpenAIProvider
from bookgen.providers.text import StopReason
from tests.fakes.model_script import fault
from tests.providers.calls import PROVIDERS, chapter_request, chat, steady

USUAL = Deadlines()
SHORT = Deadlines(connect=1, first_byte=1, idle=0.4, total=5)


def test_a_local_server_has_long_deadlines_until_its_speed_is_known() -> None:
    bounds = Speed(USUAL, self_hosted=True).deadlines(2_000, 3_000, others=0)

    assert bounds.first_byte == UNSEEN_FIRST_BYTE > 300
    assert bounds.total >= UNSEEN_FIRST_BYTE + 3_000


def test_the_deadline_of_a_call_follows_the_observed_speed() -> None:
    speed = Speed(USUAL, self_hosted=True)
    speed.answered(prompt_tokens=1_000, waited=50, tokens=900, seconds=300)

    bounds = speed.deadlines(2_000, 3_000, others=0)

    assert bounds.first_byte >= 2 * 100
    assert bounds.total >= 100 + 3_000 / 3
    assert bounds.total < 10_000


def test_the_shown_speed_has_the_mean_wait_for_a_first_word() -> None:
    speed = Speed(Deadlines(), self_hosted=False)
    for waited in (40.0, 20.0):
        speed.answered(1_000, waited, 500, 10.0)

    assert speed.shown is not None
    assert 20 < speed.shown.seconds_to_first_word < 40


async def test_a_model_reports_the_observed_speed_of_its_server(server) -> None:
    server.configure(chunk=40, chunk_delay=0.005)
    model = steady(chat(server))
    before = model.shown_speed

    reply = await model.complete(chapter_request(200))

    assert before is None
    assert 0 < model.shown_speed.tokens_a_second < reply.usage.output_tokens / (len(reply.text) / 40 * 0.005)
    await model.close()


async def test_a_model_reports_the_deadline_of_a_call_and_when_the_call_has_ended(server) -> None:
    model, told = steady(chat(server)), list[float | None]()

    await model.complete(replace(chapter_request(200), on_bound=told.append))

    (bound, ended) = told
    assert bound > UNSEEN_FIRST_BYTE
    assert ended is None
    assert model.call_seconds == bound
    await model.close()


def test_the_deadline_of_a_call_includes_the_calls_before_it() -> None:
    speed = Speed(USUAL, self_hosted=True)
    speed.answered(prompt_tokens=1_000, waited=1, tokens=900, seconds=300)

    alone, behind = (speed.deadlines(1_000, 3_000, others=others).first_byte for others in (0, 1))

    assert behind >= alone + 1_000


def test_a_silent_timeout_lengthens_the_next_deadline_and_a_reply_resets_it() -> None:
    speed = Speed(USUAL, self_hosted=True)
    speed.answered(1_000, 1, 900, 300)
    before = speed.deadlines(1_000, 100, others=0).first_byte
    speed.kept_silent()
    after = speed.deadlines(1_000, 100, others=0).first_byte
    speed.answered(1_000, 1, 900, 300)

    assert (after, speed.deadlines(1_000, 100, others=0).first_byte) == (2 * before, before)


def test_a_cloud_has_the_default_deadlines_unless_a_reply_needs_longer() -> None:
    speed = Speed(USUAL, self_hosted=False)

    assert speed.deadlines(5_000, 3_000, others=9) == USUAL
    assert speed.deadlines(5_000, 20_000, others=0).total > USUAL.total


@pytest.mark.parametrize(
    ("url", "self_hosted"),
    [
        ("", False), ("https://api.openai.com/v1", False), ("https://openrouter.ai/api/v1", False),
        ("http://127.0.0.1:8080/v1", True), ("https://llm.example.org/v1", True),
    ],
)  # fmt: skip
def test_known_clouds_are_distinguished_from_local_servers(url, self_hosted) -> None:
    assert OpenAIProvider("m", Access("k", url)).is_self_hosted is self_hosted


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
async def test_prose_received_before_a_timeout_is_used_and_paid(server, make) -> None:
    server.script(fault("stall", after=1_200))
    provider = make(server, SHORT)

    reply = await provider.attempt(chapter_request(600))

    assert reply.stop is StopReason.LENGTH
    assert len(reply.text) == 1_200
    assert reply.usage.calls == 1
    assert reply.usage.output_tokens > 0
    await provider.close()


async def test_half_a_json_object_is_not_used_and_the_error_names_the_setting(server) -> None:
    server.script(fault("stall", after=5, times=9))
    model = steady(chat(server, SHORT), tries=2)

    with pytest.raises(UpstreamAIError, match="BOOKGEN_MODEL_TIMEOUT") as failed:
        await model.complete(chapter_request(schema={"type": "object", "properties": {"summary": {"type": "string"}}}))

    assert [each.usage.output_tokens > 0 for each in failed.value.spent] == [True, True]
    await model.close()
