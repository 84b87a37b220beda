"""A model that writes 25 to 180 % of what it is asked for."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

from bench.writing.row import Measure, Size
from tests.writing.authored import PROTOCOLS, authored, write_book
from tests.writing.misbehaved import writes
from tests.writing.scripted import obedient, some_material

BAR = ">= 95 % within 10 %, book within 3 %, <= 1.35 x calls"


async def rows(size: Size) -> AsyncIterator[Measure]:
    for protocol in PROTOCOLS:
        for language in ("en", "zh", "ja", "th"):
            yield await _row(size, protocol, language)


async def _row(size: Size, protocol: str, language: str) -> Measure:
    material = some_material(size.chapters, words=size.words, content_language=language)
    async with authored(obedient, protocol) as (server, steps):
        await write_book(material, steps)
        ideal = len(server.requests)
    rng = random.Random(f"{protocol} {language}")
    async with authored(writes(lambda: rng.uniform(0.25, 1.8)), protocol) as (server, steps):
        drafts, _ = await write_book(material, steps)
        calls = len(server.requests)
    near = sum(abs(draft.word_count - size.words) <= size.words * 0.1 for draft in drafts) / len(drafts)
    book = sum(draft.word_count for draft in drafts) / (size.words * size.chapters)
    return Measure(
        f"length, {language}",
        protocol,
        f"{near:.0%} within 10 %, book {book - 1:+.2%}, {calls / ideal:.2f} x calls",
        BAR,
        near >= 0.95 and abs(book - 1) <= 0.03 and calls <= 1.35 * ideal,
    )
