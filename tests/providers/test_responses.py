"""Features of OpenAI's Responses protocol."""

from __future__ import annotations

import pytest

from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.text import StopReason
from bookgen.words import count_words
from tests.fakes.model_script import fault
from tests.providers.calls import chapter_request, responses


@pytest.mark.parametrize("streams", [True, False])
async def test_reasoning_output_is_not_part_of_the_reply(server, streams) -> None:
    server.configure(commentary="I will begin by the sea.", streams=streams)
    provider = responses(server)

    reply = await provider.attempt(chapter_request())

    assert reply.text
    assert "I will begin" not in reply.text
    await provider.close()


async def test_a_text_sent_only_in_the_final_event_is_read_there(server) -> None:
    server.configure(deltas=False, commentary="I will begin by the sea.")
    provider = responses(server)

    reply = await provider.attempt(chapter_request())

    assert reply.stop is StopReason.END
    assert count_words(reply.text) > 100
    assert "I will begin" not in reply.text
    await provider.close()


@pytest.mark.parametrize("code", ["bio_policy", "misalignment_policy_violation", "invalid_prompt"])
async def test_a_reply_ended_by_a_content_policy_is_a_refusal(server, code) -> None:
    server.script(fault("error_event", code=code))
    provider = responses(server)

    reply = await provider.attempt(chapter_request())

    assert (reply.stop, reply.text) == (StopReason.REFUSAL, "")
    await provider.close()


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("server_error", FailureKind.AWAY),
        ("rate_limit_exceeded", FailureKind.BUSY),
        ("insufficient_quota", FailureKind.LOCKED_OUT),
    ],
)
async def test_a_failed_reply_says_whether_to_retry(server, code, failure) -> None:
    server.script(fault("error_event", code=code))
    provider = responses(server)

    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request())

    assert failed.value.failure is failure
    await provider.close()


async def test_a_models_limit_on_output_tokens_is_learned_from_its_error(server) -> None:
    message = (
        "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 4096, but got 10000 instead."
    )
    server.script(fault("status", status=400, message=message))
    provider = responses(server)

    await provider.attempt(chapter_request())

    assert [call.body["max_output_tokens"] for call in server.requests] == [10_000, 4096]
    await provider.close()
