"""The recorded usage equals what the server reported, to the token."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.text import Block
from tests.fakes.model_script import fault
from tests.providers.calls import PROVIDERS, chapter_request, steady, used

KINDS = ["cut", "error_event", "empty", "truncate", "refusal", "status", "drop", "filter", "text"]
CALLS = 80


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
async def test_the_ledger_of_many_failing_calls_is_exact_to_the_token(server, make) -> None:
    rng = random.Random(7)
    server.script(*(fault(kind, text="short") for kind in rng.choices(KINDS, k=CALLS // 2)))
    model = steady(make(server, Deadlines()), tries=4)
    bible = Block("The harbour has nine lamps and one keeper. " * 150, cache=True)

    usages = await asyncio.gather(
        *(_usage(model, replace(chapter_request(60 + number), system=(bible,))) for number in range(CALLS))
    )

    total = sum(usages, Usage())
    assert server.ledger == {
        "calls": total.calls,
        "input": total.input_tokens,
        "output": total.output_tokens,
        "cache_write": total.cache_write_tokens,
        "cache_read": total.cache_read_tokens,
    }
    assert total.cache_read_tokens > total.input_tokens
    await model.close()


async def _usage(model, request) -> Usage:
    try:
        reply = await model.complete(request)
    except UpstreamAIError as error:
        return used(error.spent)
    return used(reply.also) + reply.usage
