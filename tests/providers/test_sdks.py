"""Each real SDK against a server that speaks its protocol."""

from __future__ import annotations

import pytest

from bookgen.providers.text import StopReason
from bookgen.words import count_words
from tests.fakes.model_script import fault
from tests.providers.calls import PROVIDERS, chapter_request

ANY = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)


@ANY
async def test_a_chapter_comes_back_whole(server, make) -> None:
    provider = make(server)

    reply = await provider.attempt(chapter_request(400))

    assert reply.stop is StopReason.END
    assert count_words(reply.text) == pytest.approx(400, abs=15)
    await provider.close()


@ANY
async def test_usage_is_what_the_server_counted(server, make) -> None:
    provider = make(server)

    usage = (await provider.attempt(chapter_request())).usage

    assert usage.calls == server.ledger["calls"] == 1
    assert usage.input_tokens == server.ledger["input"] > 0
    assert usage.output_tokens == server.ledger["output"] > 0
    await provider.close()


@ANY
async def test_a_cut_reply_says_that_it_was_cut(server, make) -> None:
    server.script(fault("truncate"))
    provider = make(server)

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.LENGTH
    assert reply.text
    await provider.close()


@ANY
@pytest.mark.parametrize(
    "step",
    [
        fault("refusal", text="I can't help with that."),
        fault("filter"),
        fault("text", text="I'm sorry, but I can't help with that request."),
    ],
    ids=lambda step: step.kind,
)
async def test_a_refusal_is_told_and_its_text_dropped(server, make, step) -> None:
    server.script(step)
    provider = make(server)

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.REFUSAL
    assert reply.text == ""
    assert reply.usage.calls == 1
    await provider.close()
