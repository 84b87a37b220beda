"""How much of the book the server gets in each call that writes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.writing.row import Measure, Size
from bookgen.words import tokens
from bookgen.writing.material import Material
from bookgen.writing.window import WINDOW
from tests.fakes.model_script import Call
from tests.writing.authored import PROTOCOLS, authored, sent, write_book
from tests.writing.scripted import obedient, some_material


async def rows(size: Size) -> AsyncIterator[Measure]:
    for protocol in PROTOCOLS:
        async with authored(obedient, protocol) as (server, steps):
            _, material = await write_book(some_material(size.chapters, words=size.words), steps)
        calls = [call for call in server.requests if call.stage == "chapter"]
        whole = sum(_is_given_all(call, material) for call in calls)
        largest = max(tokens(sent(call)) for call in calls)
        yield Measure(
            "continuity on the wire",
            protocol,
            f"all of it in {whole / len(calls):.1%} of {len(calls)} calls, {largest} tokens at most",
            f"100 %, < {WINDOW}",
            whole == len(calls) and largest < WINDOW,
        )


def _is_given_all(call: Call, material: Material) -> bool:
    given, number = " ".join(sent(call).split()), call.brief["chapter_number"]
    before = material.chapters[number - 2] if number > 1 else None
    tail = " ".join(before.content.split()[-150:]) if before else ""
    return (
        "grey eyes" in given
        and all(f"In chapter {earlier} Mara" in given for earlier in range(1, number))
        and all(chapter.title in given for chapter in material.chapters)
        and all(chapter.summary[:60] in given for chapter in material.chapters[number - 1 : number + 1])
        and tail in given
    )
