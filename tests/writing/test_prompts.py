"""Prompts read well."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bookgen.writing import continuity
from bookgen.writing.chapter import write_chapter
from bookgen.writing.craft import craft
from bookgen.writing.outline import draft_outline
from bookgen.writing.proofreading import edits
from tests.writing.scripted import Scripted, a_book, a_chapter, obedient, some_material
from tests.writing.test_continuity import whole, written


async def test_a_chapter_prompt_has_exactly_one_word_count():
    steps = Scripted(obedient)

    await write_chapter(written(4, upto=2), 3, steps)

    asked = steps.of_stage("chapter")[0]
    assert asked.described()["words"] == 400
    assert re.findall(r"\d+ words", whole(asked)) == ["400 words"]


@pytest.mark.parametrize(
    ("last", "shown"),
    [
        ("- Take the **long** bit. It is thin.\n- Stop at 30 mm.\n- " + "Go on as before. " * 50, "- Go on as before."),
        ("“It is late. " + "Go now. " * 100 + "He is here.”\n\nShe left.", "“It is late."),
        ("It ends here. " * 70 + "\n\n[^1]: A note.\n[^b]: Another\n    of two lines.", "It ends here."),
        ("A first sentence. " + "Nobody spoke to him. " * 400, "Nobody spoke to him."),
    ],
    ids=["an item of a list", "a speech", "before its notes", "a long paragraph"],
)
async def test_the_end_of_the_chapter_before_begins_with_a_paragraph_unless_that_is_long(last, shown):
    material = written(3, upto=2)
    earlier = [replace(each, content="First. " * 90 + "\n\n" + last) for each in material.chapters[:2]]
    steps = Scripted(obedient)

    await write_chapter(replace(material, chapters=(*earlier, material.chapters[2])), 3, steps)

    asked = steps.of_stage("chapter")[0].messages[-1].text
    assert "note" not in asked
    end = asked.partition("ends with these words")[2].partition("<book_data>\n")[2]
    assert end.startswith(shown)
    assert "First." not in end


async def test_the_end_of_the_chapter_before_is_left_out_if_all_of_it_is_in_the_prompt():
    steps = Scripted(obedient)
    material = written(3, upto=2)

    await write_chapter(material, 3, steps, context_tokens=200_000)

    asked = whole(steps.of_stage("chapter")[0])
    assert material.chapters[1].content in asked
    assert "ends with these words" not in asked


async def test_a_plan_lists_its_steps_and_speaks_of_set_ups_only_if_it_has_any():
    material = some_material(1)
    plans = {"steps": ["Find the tap.", "Close it."]}, {"sets_up": ["the locked drawer"]}
    asked = []
    for plan in plans:
        steps = Scripted(obedient)
        await write_chapter(replace(material, chapters=(replace(material.chapters[0], plan=plan),)), 1, steps)
        asked.append(whole(steps.of_stage("chapter")[0]))

    assert "Steps:\n1. Find the tap.\n2. Close it.\n" in asked[0]
    assert ["What the plan sets up" in each for each in asked] == [False, True]


async def test_the_note_prompt_separates_its_form_from_the_threads():
    steps = Scripted(obedient)

    await write_chapter(some_material(2), 1, steps)

    assert "left open:\nnone\n\nAnswer with one JSON object" in steps.of_stage("digest")[0].messages[-1].text


async def test_a_chapter_is_told_once_not_to_sum_up():
    steps = Scripted(obedient)

    await write_chapter(written(3, upto=2), 3, steps)

    for asked in (whole(steps.of_stage("chapter")[0]), craft(a_book(), brief=True)):
        assert len(re.findall(r"a moral\b|sum up|summed up", asked)) == 1


async def test_facts_are_joined_with_one_separator():
    material = written(3, upto=2)
    digest = replace(material.digests[1], facts=("Nobody told him.", "The register is closed."))
    steps = Scripted(obedient)

    await write_chapter(replace(material, digests={**material.digests, 1: digest}), 3, steps)

    assert "Settled by it: Nobody told him; The register is closed." in whole(steps.of_stage("chapter")[0])


@pytest.mark.parametrize("count", [1, 2, 21])
async def test_chapter_counts_in_prompts_are_grammatical(count):
    steps = Scripted(obedient)

    await draft_outline(a_book(chapter_count=count, bible={}), steps)

    asked = "\n".join(request.messages[0].text for request in steps.of_stage("outline"))
    assert not re.search(r"\b1 chapters|chapters (\d+) to \1\b", asked)
    assert ("one chapter" in asked) == (count == 1)


async def test_the_prompt_allows_intended_echoes():
    steps = Scripted(obedient)

    await write_chapter(written(4, upto=3), 4, steps)

    asked = whole(steps.of_stage("chapter")[0])
    assert "an echo that you mean is welcome" in asked
    assert "nor their like" not in asked


@pytest.mark.parametrize(("genre", "story"), [("Novel", True), ("Cookbook", False)])
async def test_only_the_notes_of_a_story_have_threads_and_births(genre, story):
    steps = Scripted(obedient)
    material = some_material(1, genre=genre)
    chapter = replace(material.chapters[0], content="She went home.")

    await continuity.digest_of(material.book, chapter, chapter.content, [], steps)
    (request,) = steps.of_stage("digest")
    told = "\n".join(request.texts)

    assert [word in told for word in ("Threads that", '"thread_opened"', '"born"')] == [story] * 3
    assert "later chapters" not in told or story


async def test_the_proofreading_prompt_has_full_names():
    bible = {"people": [{"name": "Joana de Sousa"}], "places": [{"name": "The New House"}], "terms": []}
    steps = Scripted(lambda request, brief, call: '{"edits": []}')
    chapter = a_chapter(1, content="She went home.")

    await edits.proposed(a_book(bible=bible), chapter, edits.TextWindow(0, len(chapter.content)), steps)

    assert "Names of people and places in this book: Joana de Sousa; The New House." in steps.calls[0][0].system[0].text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"genre": "Cookbook"}, "\nAuthor: A. Writer\n"),
        ({"genre": "Novel"}, "\nAuthor (in fiction not a character, unless the idea says so): A. Writer\n"),
        ({"genre": "Novel", "author_name": "anonymous"}, ""),
        ({"genre": "Cookbook", "author_name": " "}, ""),
    ],
    ids=["a guide", "a novel", "the default name", "no name"],
)
async def test_whoever_plans_or_writes_a_book_knows_its_author(fields, told):
    material, steps = some_material(1, **fields), Scripted(obedient)

    await draft_outline(replace(material.book, bible={}), steps)
    await write_chapter(material, 1, steps)

    for request in (steps.of_stage("outline")[0], steps.of_stage("chapter")[0]):
        assert told in request.system[0].text
        assert ("\nAuthor" in whole(request)) == bool(told)
