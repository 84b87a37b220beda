"""A mystery is planned with its solution, and every chapter is written from it."""

from __future__ import annotations

import json

import pytest

from bookgen.writing import context, craft
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import Scripted, a_book, outline_reply

SOLVED = "Ruth struck her with the flask. The roman numerals of the label prove it."
LONG = "She is 41 and left-handed. " * 18 + "She writes months in roman numerals."


def plan_with(brief, **fields) -> str:
    reply = json.loads(outline_reply(brief))
    return json.dumps({**reply, "bible": {**reply["bible"], **fields}})


@pytest.mark.parametrize(
    "genre",
    [
        "Crime novel",
        "Crime",
        "Krimi",
        "Cozy mystery",
        "Historical mystery",
        "Roman policier",
        "Novela policíaca",
        "Polar",
        "Детектив",
        "ミステリー小説",
    ],
)
async def test_the_plan_of_a_mystery_says_what_really_happened(genre: str) -> None:
    steps = Scripted(lambda request, brief, call: plan_with(brief, outcome=SOLVED))

    outline = await draft_outline(a_book(genre=genre, chapter_count=2, bible={}), steps)

    (request,) = steps.of_stage("outline")
    assert "who did it, how and why, the hours of the deed" in request.texts[-1]
    assert "each with the number of the chapter that first shows it" in request.texts[-1]
    assert "outcome" in json.dumps(request.schema)
    assert f"Outcome: {SOLVED}" in context.bible(outline.bible)


@pytest.mark.parametrize(
    "genre",
    [
        "Novel",
        "Fantasy",
        "True crime",
        "Poetry",
        "Polar history",
        "Health policies",
        "Public policies",
        "Organized crime",
    ],
)
async def test_other_books_have_no_solution(genre: str) -> None:
    steps = Scripted(lambda request, brief, call: outline_reply(brief))

    await draft_outline(a_book(genre=genre, chapter_count=2, bible={}), steps)

    assert "who did it" not in steps.of_stage("outline")[0].texts[-1]
    assert "every clue" not in craft.craft(a_book(genre=genre))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("", None),
        ("…", None),
        (None, None),
        ([SOLVED, "Nobody saw."], f"{SOLVED} Nobody saw."),
        ("Ruth. " * 500, "Ruth."),
    ],
    ids=["empty", "the form", "null", "sentences", "too long"],
)
async def test_an_outline_does_not_fail_for_its_solution(sent: object, kept: str | None) -> None:
    steps = Scripted(lambda request, brief, call: plan_with(brief, outcome=sent))

    outline = await draft_outline(a_book(genre="Crime novel", chapter_count=2, bible={}), steps)

    assert len(steps.calls) == 1
    found = outline.bible.get("outcome")
    assert found == kept or (kept == "Ruth." and found.endswith(kept) and 1_900 < len(found) <= 2_000)


async def test_the_solution_that_the_author_gives_is_not_asked_for() -> None:
    steps = Scripted(lambda request, brief, call: outline_reply(brief))

    outline = await draft_outline(
        a_book(genre="Crime novel", chapter_count=2, bible={}, authored_bible={"outcome": SOLVED}), steps
    )

    assert "who did it" not in steps.of_stage("outline")[0].texts[-1]
    assert outline.bible["outcome"] == SOLVED


def test_a_mystery_shows_its_clues_and_may_recall_them() -> None:
    told = craft.craft(a_book(genre="Crime novel"))

    assert "every clue is shown plainly" in told
    assert "it may recall those clues" in told


async def test_a_description_is_kept_whole() -> None:
    """A culprit's description was cut after 400 characters: the clue that proves it was in the rest."""
    people = [{"name": "Ruth", "description": LONG}]
    steps = Scripted(lambda request, brief, call: plan_with(brief, people=people))

    outline = await draft_outline(a_book(genre="Crime novel", chapter_count=2, bible={}), steps)

    assert outline.bible["people"] == people


async def test_a_description_without_end_ends_with_a_sentence() -> None:
    people = [{"name": "Ruth", "description": "She is 41 and left-handed. " * 100}]
    steps = Scripted(lambda request, brief, call: plan_with(brief, people=people))

    outline = await draft_outline(a_book(genre="Crime novel", chapter_count=2, bible={}), steps)

    kept = outline.bible["people"][0]["description"]
    assert 1_000 < len(kept) <= 1_200
    assert kept.endswith("left-handed.")
