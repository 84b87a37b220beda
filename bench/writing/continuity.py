"""What the server saw of the book in every call that writes; contradictions that were planted."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.writing.row import Measure, Size
from bookgen.words import count_words, tokens
from bookgen.writing.contradictions import contradictions
from bookgen.writing.material import Material
from bookgen.writing.window import WINDOW
from tests.fakes.model_script import Call
from tests.writing.authored import PROTOCOLS, authored, sent, write_book
from tests.writing.contradicted import BIBLE, DIGESTS, INNOCENT, planted
from tests.writing.plain_prose import plain_prose
from tests.writing.scripted import obedient, some_material

WORDS = 100_000


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
    seen = sum(bool(contradictions(each, BIBLE, DIGESTS)) for each in planted())
    text = plain_prose(WORDS, also=INNOCENT)
    alarms = len(contradictions(text, BIBLE, DIGESTS)) * 100_000 / count_words(text)
    yield Measure(
        "planted contradictions",
        "rules",
        f"{seen} of 100 flagged, {alarms:.1f} false alarms per 100k words",
        ">= 85, <= 5",
        seen >= 85 and alarms <= 5,
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
