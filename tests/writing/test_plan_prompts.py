"""What a planner is told about the size of a chapter and about people who are not invented."""

from __future__ import annotations

import pytest

from bookgen.writing import chapter_plan
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import Scripted, a_book, obedient


async def planning_prompt(**fields: object) -> str:
    steps = Scripted(obedient)

    await draft_outline(a_book(**{"chapter_count": 5, "bible": {}, **fields}), steps)

    return "\n".join(steps.of_stage("outline")[0].texts)


async def test_the_planner_of_a_practical_book_knows_how_long_a_recipe_is() -> None:
    told = "A recipe or a project takes 400 to 600 words with its tables"

    assert told in await planning_prompt(genre="Cookbook")
    assert "A recipe" not in await planning_prompt(genre="Novel")
    assert "600 words" not in chapter_plan.asked(a_book(genre="Cookbook", content_language="zh"))


async def test_the_planner_of_a_programming_book_counts_its_listings() -> None:
    told = "Listings, what they print, exercises and solutions count too"

    book = await planning_prompt(genre="Programming textbook")

    assert told in book
    assert "the form of listings and of what they print" in book
    assert told not in await planning_prompt(genre="Cookbook")


@pytest.mark.parametrize(
    ("words", "scenes", "scene_words", "set_ups", "last"),
    [(300, "one scene", 60, 1, 2), (1_200, "1 to 2 scenes", 60, 2, 4), (9_000, "4 to 6 scenes", 40, 6, 12)],
)
async def test_a_plan_may_have_as_much_as_its_chapters_can_carry(
    words: int, scenes: str, scene_words: int, set_ups: int, last: int
) -> None:
    asked = await planning_prompt(genre="Novel", target_word_count=5 * words)

    assert f"- scenes: {scenes}." in asked
    assert f"in about {scene_words} words a scene" in asked
    assert f"a later chapter pays off, each in a few words, at most {set_ups}." in asked
    assert f"in the words of the set-up, at most {set_ups}, in the book's last chapter at most {last}." in asked


async def test_no_memories_are_planned_for_the_narrator_of_a_practical_book() -> None:
    told = "no life, memory, mistake, acquaintance, date or measurement of theirs that the book's data does not give"

    assert told in await planning_prompt(genre="Cookbook")
    assert told not in await planning_prompt(genre="Novel")
