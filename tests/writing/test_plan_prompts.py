"""What a planner is told about the size of a chapter and about people who are not invented."""

from __future__ import annotations

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


async def test_no_memories_are_planned_for_the_narrator_of_a_practical_book() -> None:
    told = 'An "I" has no life, memories, dates or measurements that the book\'s data does not give'

    assert told in await planning_prompt(genre="Cookbook")
    assert told not in await planning_prompt(genre="Novel")
