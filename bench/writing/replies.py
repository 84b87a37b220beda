"""Structured replies malformed in twelve ways. One in ten repairs or repeated replies is malformed again."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator

from bench.writing.row import Measure, Size
from bookgen.errors import UpstreamAIError
from bookgen.writing.outline import draft_outline
from tests.writing.authored import PROTOCOLS, authored
from tests.writing.misbehaved import garbles
from tests.writing.scripted import a_book, outline_reply

ASKED = [chapter["title"] for chapter in json.loads(outline_reply({"first": 1, "last": 10}))["chapters"]]


async def rows(size: Size) -> AsyncIterator[Measure]:
    for protocol in PROTOCOLS:
        rng = random.Random(protocol)
        seen: set[str] = set()
        recovered = defaults = most = 0
        first = True

        def share(turns: int) -> float:
            nonlocal first
            chance = 1.0 if first else 0.1
            first = False
            return chance

        async with authored(garbles(rng, share), protocol) as (server, steps):
            for number in range(size.replies):
                before, first = len(server.requests), True
                try:
                    outline = await draft_outline(a_book(title=f"Book {number}", bible={}), steps)
                except UpstreamAIError:
                    continue
                finally:
                    most = max(most, len(server.requests) - before)
                recovered += 1
                defaults += [chapter.title for chapter in outline.chapters] != ASKED
                seen.add(outline.chapters[0].title)
        yield Measure(
            f"{size.replies} malformed replies",
            protocol,
            f"{recovered / size.replies:.1%} recovered, {most - 1} more calls at most, {defaults} silent defaults",
            ">= 99 %, <= 2, 0",
            recovered >= 0.99 * size.replies and most <= 3 and defaults == 0,
        )
