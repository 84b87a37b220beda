"""OpenAI-compatible servers with their known differences."""

from __future__ import annotations

import json

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.access import Access
from bookgen.providers.attempt import CallFailed, Cure
from bookgen.providers.failures import MAX_DETAIL_CHARACTERS, sentence
from bookgen.providers.openai import OpenAIProvider
from bookgen.providers.text import StopReason
from tests.fakes.model_script import fault
from tests.fakes.model_wires import WIRES
from tests.providers.calls import chapter_request, chat, steady

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["summary", "facts"],
}
KNOWN_EVERYWHERE = {"model", "messages", "stream", "stream_options", "max_tokens"}


async def test_other_servers_get_only_the_fields_that_every_server_knows(server) -> None:
    provider = chat(server)

    await provider.attempt(chapter_request())

    assert server.requests[0].path == "/some/gateway/v1/chat/completions"
    assert server.requests[0].body.keys() == KNOWN_EVERYWHERE
    await provider.close()


async def test_openai_itself_gets_its_own_fields(server) -> None:
    provider = OpenAIProvider("gpt-6.1-terra", Access("k"))

    body = provider._protocols["responses"].body(chapter_request(schema=SCHEMA))

    assert body["store"] is False
    assert body["text"]["format"]["strict"] is True
    assert provider._spoken == "responses"


async def test_a_version_is_added_to_a_url_without_one(server) -> None:
    provider = OpenAIProvider("local", Access(url=server.url))

    await provider.attempt(chapter_request())

    assert server.requests[0].path == "/v1/chat/completions"
    await provider.close()


async def test_a_server_with_only_the_responses_protocol_is_used_through_it(server) -> None:
    server.configure(protocols=["responses"])
    provider = chat(server)

    reply = await provider.attempt(chapter_request())
    await provider.attempt(chapter_request())

    assert reply.stop is StopReason.END
    assert [call.protocol for call in server.requests] == ["responses", "responses"]
    assert "store" not in server.requests[0].body
    await provider.close()


async def test_an_unknown_model_does_not_change_the_protocol(server) -> None:
    server.script(fault("status", status=404, message="model 'local' not found, try pulling it first"))
    model = steady(chat(server))

    with pytest.raises(UpstreamAIError):
        await model.complete(chapter_request())

    assert [call.protocol for call in server.requests] == ["chat"]
    await model.close()


@pytest.mark.parametrize("style", ["openai", "plain", "pydantic"])
@pytest.mark.parametrize(
    ("rejected", "instead"),
    [("max_tokens", "max_completion_tokens"), ("stream_options", None), ("response_format", None)],
)
async def test_a_rejected_field_is_left_out_from_then_on(server, rejected, instead, style) -> None:
    server.configure(rejects=[rejected], reject_style=style)
    provider = chat(server)
    request = chapter_request(schema=SCHEMA)

    first = await provider.attempt(request)
    calls = len(server.requests)
    await provider.attempt(request)

    assert json.loads(first.text).keys() == {"summary", "facts"}
    assert len(server.requests) == calls + 1
    assert rejected not in server.requests[-1].body
    assert instead is None or instead in server.requests[-1].body
    await provider.close()


async def test_without_a_schema_mode_the_schema_is_described_in_the_prompt(server) -> None:
    server.configure(rejects=["response_format"])
    provider = chat(server)

    await provider.attempt(chapter_request(schema=SCHEMA))

    asked = server.requests[-1].body["messages"][-1]["content"]
    assert json.dumps(SCHEMA) in asked
    await provider.close()


async def test_a_prompt_that_is_too_long_is_not_taken_for_an_unknown_field(server) -> None:
    message = "'max_tokens' is too large: 2000. This model's maximum context length is not supported beyond 1024"
    server.script(fault("status", status=400, message=message, times=3))
    model = steady(chat(server))

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert len(server.requests) == 1
    assert not error.value.retryable
    await model.close()


@pytest.mark.parametrize("think_tags", [True, False])
async def test_thinking_is_not_part_of_the_reply_and_gets_extra_tokens(server, think_tags) -> None:
    server.configure(reasoning="First I think about the harbour.", think_tags=think_tags)
    provider = chat(server)

    reply = await provider.attempt(chapter_request())
    await provider.attempt(chapter_request())

    assert "I think about" not in reply.text
    assert "<think>" not in reply.text
    assert reply.text
    assert server.requests[1].body["max_tokens"] > server.requests[0].body["max_tokens"]
    await provider.close()


@pytest.mark.parametrize(
    ("message", "room"),
    [
        (
            "'max_tokens' is too large: 10000. This model's maximum context length is 32768 tokens and your request "
            "has 26000 input tokens (10000 > 32768 - 26000).",
            6_768,
        ),
        ("This model's maximum context length is exceeded.", 2_000),
    ],
)
async def test_the_tokens_for_thinking_are_limited_by_the_context_window(server, message, room) -> None:
    server.configure(reasoning="First I think about the harbour.")
    provider = chat(server)
    await provider.attempt(chapter_request())
    server.script(fault("status", status=400, message=message))

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.END
    assert [call.body["max_tokens"] for call in server.requests[1:]] == [10_000, room]
    await provider.close()


async def test_a_reply_of_thinking_only_is_retried(server) -> None:
    server.script(fault("text", text="<think>\nI was still thinking"))
    model = steady(chat(server))

    reply = await model.complete(chapter_request())

    assert len(server.requests) == 2
    assert "thinking" not in reply.text
    await model.close()


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 2000. This model supports at most 512 completion tokens.",
        "Invalid max_tokens value, must be less than or equal to 512",
        "Range of max_tokens is [1, 512]",
    ],
)
async def test_a_models_limit_on_output_tokens_is_learned_from_its_error(server, message) -> None:
    server.script(fault("status", status=400, message=message))
    provider = chat(server)

    await provider.attempt(chapter_request())
    await provider.attempt(chapter_request())

    assert [call.body["max_tokens"] for call in server.requests] == [2000, 512, 512]
    await provider.close()


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("eos", StopReason.END),
        ("model_length", StopReason.LENGTH),
        ("max_tokens", StopReason.LENGTH),
        ("SAFETY", StopReason.REFUSAL),
        ("sensitive", StopReason.REFUSAL),
    ],
)
async def test_the_stop_reasons_of_different_servers_are_understood(server, reason, stop) -> None:
    server.script(fault("stops", reason=reason))
    provider = chat(server)

    assert (await provider.attempt(chapter_request())).stop is stop
    await provider.close()


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
async def test_a_reply_that_the_server_reports_as_broken_off_is_retried(server, reason) -> None:
    server.script(fault("stops", reason=reason))
    model = steady(chat(server))

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.END
    assert len(server.requests) == 2
    await model.close()


async def test_thinking_that_is_only_counted_also_gets_extra_tokens(server) -> None:
    server.configure(reasoning_tokens=500)
    provider = chat(server)

    for _ in range(2):
        await provider.attempt(chapter_request())

    assert [call.body["max_tokens"] for call in server.requests] == [2_000, 10_000]
    await provider.close()


@pytest.mark.parametrize(
    ("status", "said", "advice"),
    [
        (404, "model 'local' not found, try pulling it first", "does not know this model"),
        (404, 'model "llama3.1:8b" not found, try pulling it first', "does not know this model"),
        (400, "a/model:free is not a valid model ID", "does not know this model"),
        (400, "This model's maximum context length is 8192 tokens.", "context window holds"),
        (402, "Insufficient balance", "credit"),
        (400, "Your credit balance is too low", "credit"),
        (401, "Incorrect API key provided: sk-secret", "this server's key"),
        (403, "Country, region, or territory not supported", "does not allow this request"),
    ],
)
async def test_a_permanent_error_is_raised_with_its_reason(server, status, said, advice) -> None:
    server.script(fault("status", status=status, message=said))
    model = steady(chat(server))

    with pytest.raises(UpstreamAIError, match=advice) as error:
        await model.complete(chapter_request())

    assert "sk-secret" not in str(error.value)
    await model.close()


@pytest.mark.parametrize(
    ("status", "message", "detail", "to_do"),
    [
        (404, 'Model "X" not found.', 'Model "X" not found; it has A, B', Cure.MODEL),
        (404, "Not Found", "Not Found", "Correct OPENAI_BASE_URL: with most servers it ends in /v1."),
        (404, "No models loaded.", "No models loaded.", ""),
        (401, "Wrong key: sk-Hush!.\x1b[31m", "Wrong key: [hidden]. [31m", "Correct OPENAI_API_KEY."),
        (502, "<html><style>b</style><h1>Bad\nGateway</h1>", "Bad Gateway", "Try again later"),
    ],
)
async def test_an_error_quotes_the_server_and_says_what_to_do(server, status, message, detail, to_do) -> None:
    server.configure(models=["B", "A"])
    server.script(fault("status", status=status, message=message, times=2))
    provider = OpenAIProvider("local", Access("sk-Hush!", f"{server.url}/gateway/v1"))

    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request())

    assert (failed.value.address, failed.value.detail) == (f"{server.url}/gateway/v1", detail)
    assert failed.value.to_do.startswith(to_do)
    assert bool(failed.value.to_do) == bool(to_do)
    await provider.close()


@pytest.mark.timeout(5)
@pytest.mark.parametrize("part", ["<", "<style ", "<script>"])
def test_an_error_page_of_pure_markup_is_parsed_in_linear_time(part) -> None:
    assert len(sentence({"error": {"message": f"1 < 2 {part * 200_000}"}})) <= MAX_DETAIL_CHARACTERS
    assert sentence("1 < 2") == "1 < 2"


async def test_a_web_page_instead_of_a_reply_is_reported_as_a_wrong_address(server) -> None:
    server.script(fault("html"))
    provider = chat(server)

    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request())

    assert "text/html" in failed.value.detail
    assert failed.value.to_do == "Correct OPENAI_BASE_URL: with most servers it ends in /v1."
    await provider.close()


async def test_an_unreachable_address_is_reported_with_the_reason() -> None:
    # A local server needs some key, which is not a secret.
    provider = OpenAIProvider("local", Access("local", "http://localhost:1/v1"))

    with pytest.raises(CallFailed) as refused:
        await provider.attempt(chapter_request())

    assert refused.value.detail == "localhost:1: Connection refused"
    assert refused.value.to_do == "Is the server running, and is OPENAI_BASE_URL its address?"
    await provider.close()


async def test_an_absurd_token_count_is_not_used(server, monkeypatch) -> None:
    absurd = {"prompt_tokens": 10**30, "completion_tokens": -5, "total_tokens": 1}
    monkeypatch.setattr(type(WIRES["completions"]), "usage", lambda *_: absurd)
    provider = chat(server)

    usage = (await provider.attempt(chapter_request())).usage

    assert 0 < usage.input_tokens < 2**31
    assert usage.output_tokens == 0
    await provider.close()
