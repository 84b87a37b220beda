"""JSON is requested in the best mode that a server supports, however it refuses the others."""

from __future__ import annotations

import json

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.json_mode import SECONDS_UNTIL_ASKED_AGAIN, JsonLadder, JsonMode
from tests.fakes.model_errors import IN_REAL_WORDS
from tests.fakes.model_script import fault
from tests.providers.calls import chapter_request, chat, steady

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
REQUEST = chapter_request(schema=SCHEMA)


@pytest.mark.parametrize("words", IN_REAL_WORDS)
@pytest.mark.parametrize(
    ("rejected", "modes"),
    [
        ("response_format.json_schema", ["json_schema", "json_object", "json_object"]),
        ("response_format", ["json_schema", "json_object", None, None]),
    ],
)
async def test_after_a_refusal_the_next_json_mode_is_used_and_remembered(server, words, rejected, modes) -> None:
    server.configure(rejects=[rejected], reject_style=words)
    provider = chat(server)

    first = await provider.attempt(REQUEST)
    await provider.attempt(REQUEST)

    assert json.loads(first.text).keys() == {"summary"}
    assert first.json_mode == {"json_object": JsonMode.OBJECT, None: JsonMode.PROMPT}[modes[-1]]
    assert [call.body.get("response_format", {}).get("type") for call in server.requests] == modes
    await provider.close()


async def test_an_error_that_also_occurs_without_the_mode_does_not_change_it(server) -> None:
    server.script(fault("status", status=500, times=3))
    model = steady(chat(server))

    reply = await model.complete(REQUEST)

    assert reply.json_mode == JsonMode.SCHEMA
    assert [call.body.get("response_format", {}).get("type") for call in server.requests][2:] == [None, "json_schema"]
    await model.close()


async def test_an_outage_does_not_change_a_mode_that_has_worked(server) -> None:
    model = steady(chat(server), tries=1)
    await model.complete(REQUEST)
    server.script(fault("status", status=500))

    with pytest.raises(UpstreamAIError):
        await model.complete(REQUEST)

    assert len(server.requests) == 2
    await model.close()


def test_after_an_hour_the_best_mode_is_tried_again() -> None:
    now = [0.0]
    ladder = JsonLadder(lambda: now[0])
    ladder.step_down(500, named=False)
    ladder.confirm()

    now[0] += SECONDS_UNTIL_ASKED_AGAIN - 1
    before = ladder.mode
    now[0] += 1

    assert (before, ladder.mode) == (JsonMode.OBJECT, JsonMode.SCHEMA)
