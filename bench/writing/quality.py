"""A model that repeats itself across chapters."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace

from bench.writing.row import Measure, Size
from tests.writing.authored import PROTOCOLS, authored, write_book
from tests.writing.misbehaved import doubled, repeats
from tests.writing.scripted import some_material


async def rows(size: Size) -> AsyncIterator[Measure]:
    for protocol in PROTOCOLS:
        material = some_material(size.chapters, words=size.words)
        async with authored(repeats(random.Random(1)), protocol) as (_, steps):
            plain = []
            for chapter in material.chapters:  # each one as the first chapter: no phrase has been used before
                alone = replace(material, chapters=(chapter,))
                drafts, _ = await write_book(alone, steps)
                plain.append(drafts[0].content)
        async with authored(repeats(random.Random(1)), protocol) as (_, steps):
            drafts, _ = await write_book(material, steps)
        before, after = doubled(plain), doubled([draft.content for draft in drafts])
        yield Measure(
            "a repetitive model",
            protocol,
            f"{before} doubled sentences become {after} ({after / max(before, 1) - 1:+.0%})",
            "-50 %",
            after <= 0.5 * before,
        )
