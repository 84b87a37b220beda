"""The size of a model's context window is learned from its server, and a prompt that does not fit is not sent again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bookgen.models import Usage
from bookgen.providers.text import Block, PromptTooLong, StopReason, TextRequest
from bookgen.providers.window import SECONDS_UNTIL_FORGOTTEN, ContextWindow
from tests.fakes.model_errors import OVER_THE_WINDOW
from tests.providers.calls import chapter_request, chat, steady


def of_length(characters: int, **fields: int) -> TextRequest:
    prompt = ("The harbour has nine lamps. " * characters)[:characters]
    return replace(chapter_request(), system=(Block(prompt),), **fields)


@pytest.mark.parametrize("words", OVER_THE_WINDOW)
async def test_the_context_window_is_read_from_the_error_of_each_kind_of_server(server, words) -> None:
    server.configure(window=4_096, window_as=words)
    model = steady(chat(server))

    for _ in range(2):
        with pytest.raises(PromptTooLong) as refused:
            await model.complete(of_length(40_000, max_tokens=1_000))

    told = words != "mlx"  # except "mlx", whose error has no number
    assert (3_900 <= refused.value.window <= 4_096) if told else refused.value.window < 8_000
    assert len(server.requests) == 1
    assert not refused.value.retryable
    await model.close()


@pytest.mark.parametrize("words", OVER_THE_WINDOW)
async def test_a_prompt_that_fits_is_answered_after_a_refusal(server, words) -> None:
    server.configure(window=4_096, window_as=words)
    model = steady(chat(server))
    with pytest.raises(PromptTooLong) as refused:
        await model.complete(of_length(20_000, max_tokens=1_000))

    reply = await model.complete(of_length(4 * (refused.value.window - 800), max_tokens=700))

    assert reply.stop is StopReason.END
    await model.close()


async def test_a_server_that_silently_truncates_the_prompt_is_detected_and_its_reply_dropped(server) -> None:
    server.configure(window=2_048)
    model = steady(chat(server))

    with capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(PromptTooLong) as refused:
                await model.complete(of_length(16_000))

    assert refused.value.window in range(1_900, 2_049)
    assert [entry["event"] for entry in logs] == ["prompt_was_cut"]
    assert "OLLAMA_CONTEXT_LENGTH" in logs[0]["to_do"]
    assert len(server.requests) == 1
    await model.close()


async def test_a_reply_that_ends_at_the_window_reveals_its_size(server) -> None:
    server.configure(window=2_048, window_as="llama.cpp", length_factor=20)
    model = steady(chat(server))

    reply = await model.complete(of_length(5_600, max_tokens=2_000))
    with pytest.raises(PromptTooLong) as refused:
        await model.complete(of_length(5_600, max_tokens=2_000))

    assert reply.stop is StopReason.LENGTH
    assert refused.value.window in range(1_900, 2_049)
    await model.close()


async def test_a_reply_that_may_be_shorter_gets_the_tokens_that_are_left(server) -> None:
    server.configure(window=8_192, window_as="vllm")
    model = steady(chat(server))

    replies = [await model.complete(of_length(16_000, max_tokens=6_000, least_tokens=1_500)) for _ in range(2)]

    asked = [call.body["max_tokens"] for call in server.requests]
    assert [reply.stop for reply in replies] == [StopReason.END] * 2
    assert asked[0] == 6_000
    assert all(4_000 < room < 4_192 for room in asked[1:])
    assert len(asked) == 3
    await model.close()


async def test_thinking_gets_no_more_tokens_than_are_left(server) -> None:
    server.configure(window=4_096, window_as="vllm", reasoning="I think.")
    model = steady(chat(server))
    with pytest.raises(PromptTooLong):
        await model.complete(of_length(20_000))
    await model.complete(of_length(4_000, max_tokens=500))

    reply = await model.complete(of_length(4_000, max_tokens=500))

    assert reply.stop is StopReason.END
    assert len(server.requests) == 3
    await model.close()


def test_a_tokenizer_that_uses_more_tokens_than_estimated_leaves_less_room() -> None:
    window = ContextWindow()

    refused = window.refused("maximum context length is 2048 tokens (3000 in the messages, 10 in it)", 1_500, 10)

    assert refused.window in range(960, 1_025)


def test_a_learned_window_expires_after_an_hour() -> None:
    now = [0.0]
    window = ContextWindow(lambda: now[0])
    window.refused("n_ctx': 2048", 5_000, 100)

    now[0] += SECONDS_UNTIL_FORGOTTEN - 1
    before = window.size
    now[0] += 1

    assert (before, window.size) == (2_048, None)


def test_a_reply_cut_at_its_own_limit_says_nothing_about_the_window() -> None:
    window = ContextWindow()

    window.answered(1_048, Usage(calls=1, input_tokens=1_048, output_tokens=1_000), 1_000, StopReason.LENGTH)

    assert window.size is None


def test_a_cut_reply_says_nothing_about_a_window_that_has_held_more_tokens() -> None:
    now = [0.0]
    window = ContextWindow(lambda: now[0])

    def answered(read: int, written: int, stop: StopReason) -> int | None:
        window.answered(read, Usage(calls=1, input_tokens=read, output_tokens=written), 1_000, stop)
        return window.size

    assert answered(2_000, 842, StopReason.END) is None
    assert answered(1_157, 123, StopReason.LENGTH) is None  # 1,280 tokens in all, but the model has held 2,842
    assert answered(2_700, 116, StopReason.LENGTH) is None
    assert answered(2_800, 272, StopReason.LENGTH) == 3_072

    now[0] += SECONDS_UNTIL_FORGOTTEN
    assert answered(1_157, 123, StopReason.LENGTH) == 1_280  # the model may have been reloaded with a smaller window


@pytest.mark.parametrize(
    ("self_hosted", "read", "cut"),
    [(True, 2_048, True), (True, 2_050, False), (True, 900, True), (False, 2_048, False), (False, 900, False)],
)
def test_a_token_count_slightly_below_the_estimate_is_not_a_truncated_prompt(self_hosted, read, cut) -> None:
    window = ContextWindow(self_hosted=self_hosted)

    found = window.answered(4_000, Usage(calls=1, input_tokens=read, output_tokens=90), 1_000, StopReason.END)

    assert (found is not None) is cut
