"""The offline model: sample text of the requested length, about the people and things of the book."""

from __future__ import annotations

import json
import re

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import Message, StopReason, TextReply, TextRequest
from bookgen.words import count_words

BOOK = {
    "language": "en",
    "title": "The Harbour of Lamps",
    "subtitle": "",
    "genre": "Mystery",
    "audience": "adults",
    "chapter_count": 10,
    "target_word_count": 20000,
    "seed": 0,
}
OUTLINE = {
    "type": "object",
    "properties": {
        "bible": {
            "type": "object",
            "properties": {
                "people": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "role": {"type": "string"}}},
                },
                "voice": {"type": "string"},
            },
        },
        "chapters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "summary": {"type": "string"}},
            },
        },
    },
}


async def ask(stage: str, schema: dict[str, object] | None = None, **fields: object) -> TextReply:
    message = Message("user", "Please.")
    brief = {**BOOK, **fields}
    return await OfflineModel().complete(TextRequest(stage, (), (message,), 4000, schema=schema, brief=brief))


async def chapter(number: int, **fields: object) -> str:
    reply = await ask(
        "chapter",
        chapter_number=number,
        chapter_title="The Weight of the Clock",
        chapter_summary="Ida Holloway hides the silver lighter in the boathouse.",
        people=["Ida Holloway", "Silas Boone"],
        **{"part": 1, "parts": 1, "words": 900, "task": "write", **fields},
    )
    return reply.text


@pytest.mark.parametrize("words", [60, 300, 700, 1000, 2500])
@pytest.mark.parametrize("genre", ["Mystery", "Self-help"])
async def test_a_part_has_the_requested_length(words: int, genre: str) -> None:
    text = await chapter(3, words=words, genre=genre)

    assert count_words(text) == pytest.approx(words, abs=max(12, words * 0.02))


async def test_the_same_brief_gives_the_same_text() -> None:
    assert await chapter(3) == await chapter(3)


async def test_the_text_mentions_the_people_and_things_of_the_book() -> None:
    text = await chapter(2)

    assert "Ida" in text
    assert "silver lighter" in text
    assert "the boathouse" in text


async def test_the_first_chapter_says_that_it_is_sample_text() -> None:
    assert (await chapter(1)).startswith("*This is sample text")
    assert "sample text" not in await chapter(2)


async def test_no_long_sentence_occurs_in_two_chapters() -> None:
    first, second = [long_sentences(await chapter(number)) for number in (4, 5)]

    assert len(first) > 20
    assert not first & second


async def test_an_outline_has_the_requested_number_of_chapters_with_different_titles() -> None:
    reply = await ask("outline", OUTLINE, description="A harbour at night.", first=1, last=10)

    outline = json.loads(reply.text)
    assert len(outline["chapters"]) == 10
    assert len({one["title"] for one in outline["chapters"]}) == 10
    assert outline["bible"]["people"]


@pytest.mark.parametrize("seed", range(5))
async def test_no_two_chapters_of_a_long_outline_have_the_same_plan(seed: int) -> None:
    outline = json.loads((await ask("outline", OUTLINE, seed=str(seed), first=1, last=100)).text)

    assert len({one["title"].casefold() for one in outline["chapters"]}) == 100
    assert len({one["summary"].casefold() for one in outline["chapters"]}) == 100


async def test_the_batches_of_an_outline_form_one_outline() -> None:
    whole = json.loads((await ask("outline", OUTLINE, first=1, last=10)).text)["chapters"]
    halves = [
        json.loads((await ask("outline", OUTLINE, first=first, last=last)).text)["chapters"]
        for first, last in ((1, 4), (5, 10))
    ]

    assert halves[0] + halves[1] == whole


async def test_a_reply_is_complete_and_costs_nothing() -> None:
    reply = await ask("chapter", chapter_number=1, words=200)

    assert reply.stop is StopReason.END
    assert reply.usage.calls == 1
    assert reply.usage.output_tokens > 0
    assert reply.usage.cost_micros == 0
    assert not reply.usage.unknown_price


async def test_a_question_is_answered_from_the_passages() -> None:
    message = Message(
        "user",
        "Exports\n\nA book can be exported as PDF, DOCX or EPUB.\n\nQuotas\n\nEvery plan has a quota of books.",
    )
    brief = {"question": "Which exported formats can a book have?"}

    reply = await OfflineModel().complete(TextRequest("support", (), (message,), 500, brief=brief))

    assert "PDF, DOCX or EPUB" in reply.text
    assert "quota" not in reply.text


def long_sentences(text: str) -> set[str]:
    return {one for one in re.split(r"(?<=[.?!”])\s+", text) if count_words(one) > 7}
