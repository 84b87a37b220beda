"""A reply that loops is ended while it streams. Its good part and its cost are kept."""

from __future__ import annotations

import random

import pytest

from bookgen.providers.loops import MIN_LOOP_CHARACTERS, first_round
from bookgen.providers.text import StopReason
from tests.fakes.model_script import fault
from tests.providers.calls import PROVIDERS, chapter_request
from tests.writing.plain_prose import plain_prose
from tests.writing.scripted import prose

GOOD = plain_prose(120)
ANY = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
LOOPS = {
    "a sentence": "The tide came in and nobody spoke of it. ",
    "a line": "\nThe lamp was out again.",
    "two paragraphs": f"\n\n{plain_prose(40)}\n\n{plain_prose(50)}",
    "a word": " and",
    "blanks": " ",
}


@ANY
@pytest.mark.parametrize("again", LOOPS.values(), ids=LOOPS)
async def test_a_reply_that_loops_is_cut_and_its_good_part_kept(server, make, again) -> None:
    server.script(fault("text", text=GOOD + again * (200_000 // len(again))))
    provider = make(server)

    reply = await provider.attempt(chapter_request())
    await server.until(lambda: server.requests[0].ended != "")

    assert reply.stop is StopReason.LOOP
    assert reply.text.startswith(GOOD)
    assert len(reply.text) < len(GOOD) + 3 * len(again) + 500
    assert reply.usage.calls == 1
    assert reply.usage.output_tokens >= (len(GOOD) + MIN_LOOP_CHARACTERS) // 5  # includes what was written and dropped
    await provider.close()


@pytest.mark.parametrize(
    "text",
    [
        plain_prose(3_000),
        prose(2_000, 1),
        "\n".join(f"- The boat number {number} was out" for number in range(200)),
        "\n\n".join(["He waited.", "***", "She waited.", "***"] * 8 + [plain_prose(200)]),
        "".join(random.Random(1).choices("абвг ", k=5_000)),
    ],
)
def test_prose_and_lists_and_refrains_are_not_loops(text) -> None:
    assert all(first_round(text[:end]) is None for end in range(400, len(text), 400))
