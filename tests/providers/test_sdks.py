"""Each real SDK against a server that speaks its protocol."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bookgen.providers.sdk import BRIEF_HEADER
from bookgen.providers.text import StopReason
from bookgen.words import count_words
from tests.fakes.model_script import fault
from tests.fakes.model_server import HEADER
from tests.providers.calls import PROVIDERS, chapter_request, steady

ANY = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)


@ANY
async def test_a_chapter_is_returned_complete(server, make) -> None:
    provider = make(server)

    reply = await provider.attempt(chapter_request(400))

    assert reply.stop is StopReason.END
    assert count_words(reply.text) == pytest.approx(400, abs=15)
    await provider.close()


@ANY
async def test_prompts_go_to_the_test_server_only(server, make, monkeypatch) -> None:
    provider = make(server)
    await provider.attempt(chapter_request())
    monkeypatch.delenv(BRIEF_HEADER)

    await provider.attempt(chapter_request())

    told, untold = server.requests
    assert told.brief["chapter_title"] == "The Bell"
    assert untold.headers.keys() == told.headers.keys() - {HEADER.lower()}
    assert untold.body == told.body
    await provider.close()


@ANY
async def test_the_proxy_from_the_environment_is_used(server, make, monkeypatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    far = "http://model.example"
    provider = make(SimpleNamespace(url=far, anthropic_url=far, openai_url=f"{far}/v1"))

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.END
    assert server.requests[0].headers["host"] == "model.example"
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
async def test_a_cut_reply_is_marked_as_cut(server, make) -> None:
    server.script(fault("truncate"))
    provider = make(server)

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.LENGTH
    assert reply.text
    await provider.close()


@ANY
async def test_a_model_that_used_all_its_tokens_for_thinking_gets_more(server, make) -> None:
    server.script(fault("truncate", fraction=0, times=2))
    model = steady(make(server))

    reply = await model.complete(chapter_request())

    rooms = [next(value for name, value in call.body.items() if "_tokens" in name) for call in server.requests]
    assert reply.stop is StopReason.END
    assert [room - rooms[0] for room in rooms] == [0, 8_000, 16_000]
    await model.close()


@ANY
@pytest.mark.parametrize(
    "opening",
    [
        "I can't help smiling when I think of it.",
        "I can't help with the horses today, he had said.",
        "I cannot continue like this, she thought.",
        "I'm not able to write the way I used to.",
        "Sorry, I can't do this. I can't.",
    ],
)
async def test_a_short_passage_in_the_first_person_is_no_refusal(server, make, opening) -> None:
    server.script(fault("text", text=f"{opening} The lamp was still lit when the ferry came."))
    provider = make(server)

    assert (await provider.attempt(chapter_request())).stop is StopReason.END
    await provider.close()


@ANY
@pytest.mark.parametrize(
    "step",
    [
        fault("refusal", text="I can't help with that."),
        fault("filter"),
        *(
            fault("text", text=text)
            for text in (
                "I'm sorry, but I can't help with that request.",
                "I cannot write this chapter. I'd be happy to suggest another scene.",
                "I can’t continue this story as requested.",
                "I'm not able to create explicit content.",
                "Sorry, but I can't assist.",
            )
        ),
        fault("status", status=400, message="Output blocked by content filtering policy"),
    ],
    ids=lambda step: step.kind,
)
async def test_a_refusal_is_reported_and_its_text_dropped(server, make, step) -> None:
    server.script(step)
    provider = make(server)

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.REFUSAL
    assert reply.text == ""
    assert reply.usage.calls == 1
    await provider.close()
