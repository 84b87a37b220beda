"""What a planner is told about the size of a chapter and about people who are not invented."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.writing import chapter_plan
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import Scripted, a_book, obedient


async def planning_prompt(**fields: object) -> str:
    steps = Scripted(obedient)

    with contextlib.suppress(UpstreamAIError):  # the script replies in English
        await draft_outline(a_book(**{"chapter_count": 5, "bible": {}, **fields}), steps)

    return "\n".join(steps.of_stage("outline")[0].texts)


async def test_the_planner_of_a_practical_book_knows_how_long_a_recipe_is() -> None:
    told = "A recipe or a project takes 400 to 600 words with its tables"

    assert told in await planning_prompt(genre="Cookbook")
    assert "A recipe" not in await planning_prompt(genre="Novel")
    assert "takes 800 to 1200 characters" in chapter_plan.asked(a_book(genre="Cookbook", content_language="zh"))


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


@pytest.mark.parametrize(("tag", "one", "two"), [("en", 600, 601), ("ja", 1_200, 1_202)])
def test_a_chapter_of_up_to_600_words_is_planned_with_one_scene(tag: str, one: int, two: int) -> None:
    short, longer = (
        chapter_plan.asked(a_book(genre="Novel", chapter_count=1, target_word_count=words, content_language=tag))
        for words in (one, two)
    )

    assert "- scenes: one scene." in short
    assert "- scenes: 1 to 2 scenes." in longer


@pytest.mark.parametrize("genre", ["Mystery", "Memoir", "Poetry", "Cookbook", ""])
async def test_the_planner_of_a_japanese_book_is_given_no_length_in_words(genre: str) -> None:
    asked = await planning_prompt(genre=genre, target_word_count=5 * 2_400, content_language="ja")

    assert "a summary of 80 to 140 characters" in asked
    assert not re.search(r"\b(?:\d+|two|five|nine) words\b", asked)


async def test_a_japanese_chapter_has_the_plan_of_an_english_one_that_says_as_much() -> None:
    book = a_book(genre="Novel", chapter_count=5, target_word_count=5 * 1_200)
    english = chapter_plan.asked(book)

    japanese = chapter_plan.asked(replace(book, target_word_count=5 * 2_400, content_language="ja"))

    assert (
        japanese.replace("2400 characters (not counting punctuation)", "1200 words").replace(
            "120 characters a scene", "60 words a scene"
        )
        == english
    )


def test_the_parts_of_a_plan_are_joined_without_their_full_stops() -> None:
    scene = {
        "place": "営業所の窓口",
        "people": "桃子、太一。",
        "want": "返したい。規則が邪魔をする。",
        "turn": "棚へ上げる．",
    }

    lines = chapter_plan.as_prompt_lines({"scenes": [scene], "sets_up": ["小さな鍵。", "The rule."]}).splitlines()

    assert lines == [
        "Scene 1. place: 営業所の窓口; people: 桃子、太一; want: 返したい。規則が邪魔をする; turn: 棚へ上げる.",
        "Sets up: 小さな鍵; The rule.",
    ]


async def test_no_memories_are_planned_for_the_narrator_of_a_practical_book() -> None:
    told = "no life, memory, mistake, acquaintance, date or measurement of theirs that the book's data does not give"

    assert told in await planning_prompt(genre="Cookbook")
    assert told not in await planning_prompt(genre="Novel")
