"""Servers and gateways that never stream."""

from __future__ import annotations

import pytest

from bookgen.providers.text import StopReason
from bookgen.words import count_words
from tests.fakes.model_script import fault
from tests.providers.calls import PROVIDERS, chapter_request

ANY = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)


@pytest.fixture
def silent(server):
    server.configure(streams=False)
    return server


@ANY
async def test_a_complete_reply_to_a_streaming_request_is_read(silent, make) -> None:
    provider = make(silent)

    reply = await provider.attempt(chapter_request(300))

    assert reply.stop is StopReason.END
    assert count_words(reply.text) == pytest.approx(300, abs=15)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (silent.ledger["input"], silent.ledger["output"])
    await provider.close()


@ANY
@pytest.mark.parametrize(
    ("misdeed", "stop"), [("truncate", StopReason.LENGTH), ("refusal", StopReason.REFUSAL)], ids=["cut", "refused"]
)
async def test_a_complete_reply_has_its_stop_reason(silent, make, misdeed, stop) -> None:
    silent.script(fault(misdeed))
    provider = make(silent)

    assert (await provider.attempt(chapter_request())).stop is stop
    await provider.close()
