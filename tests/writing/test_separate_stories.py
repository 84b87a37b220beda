"""A collection of separate stories is planned, written and read story by story."""

from __future__ import annotations

from dataclasses import replace

from bookgen.writing import drawn_names
from bookgen.writing.outline import draft_outline
from bookgen.writing.rework import rework_chapters
from tests.writing.scripted import Scripted, a_book, obedient, some_material

IDEA = "Five separate stories about people who take a neighbour to court."
STORIES = {"genre": "Short stories", "description": IDEA, "chapter_count": 5, "target_word_count": 6_500}


async def planned(**fields: object) -> tuple[str, object]:
    steps = Scripted(obedient)

    await draft_outline(a_book(**{**STORIES, "bible": {}, **fields}), steps)

    (request,) = steps.of_stage("outline")
    return "\n".join(request.texts), request


async def test_each_chapter_is_planned_as_a_story_of_its_own() -> None:
    stories, request = await planned()
    novel, _ = await planned(genre="Novel", description="A neighbour goes to court.")

    for words in ("what comes later needs what came before", "pays_off", "5 premises", "how the whole book moves"):
        assert words in novel
        assert words not in stories
    for words in (
        "complete from beginning to end",
        "No two turn on the same device",
        "begins with the form of its story",
        "why the stories stand in this order",
        "begins with the number of its story in square brackets",
        "summary of 70 to 110 words",
        "no other chapter prepares it",
    ):
        assert words in stories
        assert words not in novel
    plan = request.schema["properties"]["plans"]["items"]["properties"]
    assert list(plan) == ["chapter", "scenes", "last_image"]


async def test_a_collection_of_mysteries_has_no_outcome_of_the_whole_book() -> None:
    assert "what really happened" not in (await planned(genre="Crime short stories"))[0]
    assert "what really happened" in (await planned(genre="Crime novel", description="A body."))[0]


def test_names_are_drawn_for_as_many_casts_as_there_are_stories() -> None:
    one = drawn_names.drawn(a_book(**{**STORIES, "genre": "Novel", "description": "A body.", "bible": {}}))
    five = drawn_names.drawn(a_book(**STORIES, bible={}))

    assert "each takes others from the lists" in five
    assert five.count(",") > 2 * one.count(",")
    assert five.count("; ") > one.count("; ")
    assert five.count(" or ") > one.count(" or ")


async def test_a_story_is_planned_again_without_regard_to_those_around_it() -> None:
    steps = Scripted(obedient)
    material = some_material(5, **STORIES)
    written = tuple(replace(each, content="Nine inches.") for each in material.chapters[:2])
    material = replace(material, chapters=(*written, *material.chapters[2:]))

    await rework_chapters(material, [4], "", steps, context_tokens=200_000)

    (request,) = steps.of_stage("rework")
    told = "\n".join(request.texts)
    assert "that no other story of the book has" in told
    assert "fits what comes before and after it" not in told
