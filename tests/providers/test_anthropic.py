"""Features of Anthropic: cached prefixes, effort, structured output."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.text import Block, Message, StopReason
from tests.fakes.model_script import fault
from tests.providers.calls import anthropic, chapter_request

SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string", "maxLength": 200},
        "facts": {"type": "array", "items": {"type": "string"}, "minItems": 2, "description": "What holds."},
    },
}


async def test_at_most_four_prefixes_are_marked_for_caching(server) -> None:
    provider = anthropic(server)
    blocks = tuple(Block(f"Part {number}. " * 50, cache=True) for number in range(5))
    request = replace(chapter_request(), system=blocks)
    request = replace(request, messages=(replace(request.messages[0], cache=True),))

    await provider.attempt(request)

    body = server.requests[0].body
    marked = ["cache_control" in block for block in (*body["system"], *body["messages"][0]["content"])]
    assert marked == [False, False, True, True, True, True]
    await provider.close()


async def test_a_repeated_prefix_is_read_from_the_cache(server) -> None:
    provider = anthropic(server)
    bible = Block("The harbour has nine lamps. " * 400, cache=True)

    first, second = [
        (await provider.attempt(replace(chapter_request(words), system=(bible,)))).usage for words in (100, 120)
    ]

    assert first.cache_write_tokens == second.cache_read_tokens > 1024
    assert second.cache_write_tokens == 0
    assert second.cost_micros < first.cost_micros
    await provider.close()


async def test_a_schema_is_requested_in_the_providers_own_mode(server) -> None:
    provider = anthropic(server)

    reply = await provider.attempt(chapter_request(schema=SCHEMA))

    sent = server.requests[0].body["output_config"]["format"]["schema"]
    assert json.loads(reply.text).keys() == {"summary", "facts"}
    assert sent["additionalProperties"] is False
    assert sent["required"] == ["summary", "facts"]
    assert "minItems" not in sent["properties"]["facts"]
    assert sent["properties"]["facts"]["description"] == "What holds. (minItems 2)"
    await provider.close()


async def test_effort_is_left_out_after_a_model_rejects_it_once(server) -> None:
    server.configure(rejects=["output_config.effort"])
    provider = anthropic(server)

    await provider.attempt(chapter_request())
    await provider.attempt(chapter_request())

    assert ["output_config" in call.body for call in server.requests] == [True, False, False]
    await provider.close()


async def test_thinking_is_not_part_of_the_reply(server) -> None:
    server.configure(reasoning="I should begin by the sea.")
    provider = anthropic(server)

    reply = await provider.attempt(chapter_request())

    assert "I should begin" not in reply.text
    await provider.close()


async def test_a_version_in_the_base_url_is_accepted(server) -> None:
    server.url += "/v1/"
    provider = anthropic(server)

    await provider.attempt(replace(chapter_request(), messages=(Message("user", "Write."),)))

    assert server.requests[0].path == "/v1/messages"
    await provider.close()


async def test_a_models_limit_on_output_tokens_is_learned_from_its_error(server) -> None:
    server.script(fault("status", status=400, message="max_tokens: 10000 > 4096, which is the maximum allowed"))
    provider = anthropic(server)

    await provider.attempt(chapter_request())

    assert [call.body["max_tokens"] for call in server.requests] == [10_000, 4096]
    await provider.close()


async def test_an_error_that_mentions_effort_only_in_its_text_is_understood(server) -> None:
    server.script(fault("status", status=400, message="This model does not support the effort parameter."))
    provider = anthropic(server)

    await provider.attempt(chapter_request(schema=SCHEMA))

    assert [call.body["output_config"].keys() for call in server.requests] == [{"effort", "format"}, {"format"}]
    await provider.close()


async def test_a_content_filter_error_in_the_stream_is_a_paid_refusal(server) -> None:
    server.script(
        fault("error_event", code="invalid_request_error", message="Output blocked by content filtering policy")
    )
    provider = anthropic(server)

    reply = await provider.attempt(chapter_request())

    assert (reply.stop, reply.text) == (StopReason.REFUSAL, "")
    assert reply.usage.input_tokens == server.ledger["input"]
    await provider.close()


async def test_an_unknown_stop_reason_is_not_treated_as_the_end(server) -> None:
    server.script(fault("stops", reason="moon_phase"), fault("stops", reason="model_context_window_exceeded"))
    provider = anthropic(server)

    assert [(await provider.attempt(chapter_request())).stop for _ in range(2)] == [StopReason.LENGTH] * 2
    await provider.close()


async def test_a_client_that_cannot_be_created_is_a_failed_call(server, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")
    provider = anthropic(server)

    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request())
    await provider.close()
    monkeypatch.undo()
    reply = await provider.attempt(chapter_request())

    assert failed.value.failure is FailureKind.DENIED
    assert reply.text
    await provider.close()
