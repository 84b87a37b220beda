"""A collection of separate stories is planned, written and read story by story."""

from __future__ import annotations

import json
from dataclasses import replace

from bookgen.models import Digest
from bookgen.providers.text import TextRequest
from bookgen.writing import blurb, brief, cover_art, craft, drawn_names, notes, stories
from bookgen.writing.chapter import write_chapter
from bookgen.writing.estimate import Basis, estimate
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material
from bookgen.writing.outline import draft_outline
from bookgen.writing.proofreading import edits
from bookgen.writing.review.reading import reading_requests
from bookgen.writing.rework import rework_chapters
from bookgen.writing.window import WINDOW
from tests.writing.authored import write_book
from tests.writing.scripted import Scripted, a_book, obedient, some_material

IDEA = "Five separate stories about people who take a neighbour to court."
STORIES = {"genre": "Short stories", "description": IDEA, "chapter_count": 5, "target_word_count": 6_500}

BIBLE = {
    "kind": "fiction",
    "premise": "People who go to court.",
    "voice": "Dry, exact about sums.",
    "arc": ["The loudest comes first."],
    "people": [
        {"name": "Eleanor", "description": "[1] 61, a widow who measures"},
        {"name": "Douglas", "description": "[2] 54, a ferry purser"},
        {"name": "Hebert", "description": "【第3話】 the meter man"},
        {"name": "The clerk", "description": "appears wherever a court does"},
    ],
    "places": [{"name": "Oban", "description": "[2] papers only"}],
    "terms": [{"name": "claimant", "description": "[2, 4] in Scotland and Ireland"}],
}


def collection(**fields: object) -> Material:
    return some_material(3, words=400, **{**STORIES, "bible": BIBLE, "chapter_count": 3, **fields})


def courteous(request: TextRequest, told: dict[str, object], call: int) -> str:
    """A model that does what it is asked, in a collection too."""
    if told["stage"] != "digest" or "thread" in request.texts[-1]:
        return obedient(request, told, call)
    return json.dumps({"summary": f"Letters. Story {told['chapter_number']} turns on a receipt and ends on a fence."})


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

    assert "Drawn by lot for the stories, each of which takes others" in five
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


async def test_the_author_of_a_story_is_not_shown_the_others() -> None:
    steps = Scripted(courteous)

    drafts, _ = await write_book(collection(), steps, context_tokens=200_000)

    first, second, third = steps.of_stage("chapter")
    told = "\n".join(third.texts)
    for draft in drafts[:2]:
        assert draft.content not in told
        assert draft.content.split(". ")[0] in told, "its first sentence, so that this story begins otherwise"
        assert draft.digest is not None
        assert draft.digest.summary in told
    for chapter in collection().chapters[:2]:
        assert chapter.title in told
        assert chapter.summary not in told
    assert "Eleanor" in "\n".join(first.texts)
    assert "Eleanor" not in "\n".join(second.texts)
    assert all(name in "\n".join(second.texts) for name in ("Douglas", "Oban", "claimant", "The clerk"))
    assert "Hebert" in told
    assert all(name not in told for name in ("Douglas", "Oban", "claimant", "The loudest"))


async def test_no_story_is_asked_to_go_on_with_another_one() -> None:
    digests = {
        number: Digest(number, content_hash("Nine inches."), "A fence.", threads_opened=("Who built it?",))
        for number in (1, 2)
    }

    for genre, is_asked in (("Short stories", False), ("Novel", True)):
        steps = Scripted(courteous)
        material = collection(genre=genre)
        written = tuple(replace(each, content="Nine inches.") for each in material.chapters[:2])
        material = replace(material, chapters=(*written, *material.chapters[2:]), digests=digests)

        await write_chapter(material, 3, steps)
        told = "\n".join(steps.of_stage("chapter")[0].texts)
        for words in ("The book ends with this chapter", "Who built it?", "as if written in one go by one person"):
            assert (words in told) is is_asked
        assert ("a story that is complete in itself" in told) is not is_asked


async def test_a_story_is_noted_only_for_what_the_next_ones_do_in_another_way() -> None:
    steps = Scripted(courteous)

    drafts, material = await write_book(collection(), steps, context_tokens=200_000)

    asked = steps.of_stage("digest")
    assert [request.chapter_number for request in asked] == [1, 2]
    for request in asked:
        assert "the device that it turns on" in request.texts[-1]
        assert "facts" not in request.texts[-1]
        assert "Threads" not in request.texts[-1]
    assert drafts[0].digest is not None
    assert (drafts[0].digest.noted, drafts[0].digest.facts) == ((), ())
    assert [digest async for digest in notes.note_rest(material, steps)] == []


async def test_a_lost_digest_of_a_story_is_made_from_its_text() -> None:
    steps = Scripted(courteous)
    material = collection()
    written = replace(material.chapters[0], content="Nine inches, measured twice.", writer="a-model")
    found: list[Digest] = []

    await write_chapter(replace(material, chapters=(written, *material.chapters[1:])), 2, steps, on_digest=found.append)

    (request,) = [each for each in steps.of_stage("digest") if each.chapter_number == 1]
    assert list(request.schema["properties"]) == ["summary"]
    assert "must not repeat" in request.system[0].text
    assert found[0].summary.startswith("Letters.")


def test_each_story_has_its_own_voice_and_form() -> None:
    told, novel = craft.craft(collection().book), craft.craft(a_book(genre="Novel"))

    assert "a voice of its own" in told
    assert "the form that the story's summary names" in told
    assert "build on it" not in told
    assert "build on it" in novel
    assert "a collection of separate stories" in craft.craft(collection().book, brief=True)
    assert "one stretch at a time." in craft.craft(a_book(genre="Novel"), brief=True)


def test_a_crime_story_shows_its_clues_but_has_no_outcome_of_the_book() -> None:
    told = craft.craft(collection(genre="Crime short stories").book)

    assert "every clue is shown plainly" in told
    assert "outcome" not in told
    assert "outcome" in craft.craft(a_book(genre="Crime novel"))


def test_the_entries_of_a_story_are_marked_with_its_number() -> None:
    assert stories.numbers_of({"name": "claimant", "description": "[2, 4] in Scotland"}) == {2, 4}
    assert stories.numbers_of({"name": "Don", "description": "［第３話］ 70"}) == {3}
    assert stories.numbers_of({"name": "Don", "description": "70 [sic]"}) == set()
    assert stories.numbers_of("a line that the author typed") == set()
    assert stories.without_mark("[1] 61, a widow") == "61, a widow"
    assert stories.without_mark("61, a widow [1]") == "61, a widow [1]"
    material = collection()
    assert brief.of_chapter(material.book, material.chapters[1])["people"] == ["Douglas", "The clerk"]


def test_an_estimate_does_not_count_the_text_of_earlier_stories() -> None:
    stories_basis = Basis.of(collection().book, collection().chapters)
    novel = collection(genre="Novel")

    assert stories_basis.is_separate
    assert not Basis.of(novel.book, novel.chapters).is_separate
    assert estimate(stories_basis, "m", lambda *_: 1, context_tokens=200_000) != estimate(
        replace(stories_basis, is_separate=False), "m", lambda *_: 1, context_tokens=200_000
    )


def written(words: int = 40, **fields: object) -> Material:
    material = collection(**fields)
    texts = (f"Story {number} begins. {'Nine inches of lawn. ' * words}It ended." for number in (1, 2, 3))
    chapters = (
        replace(chapter, content=text, plan={"last_image": "The fence."})
        for chapter, text in zip(material.chapters, texts, strict=True)
    )
    return replace(material, chapters=tuple(chapters))


def test_an_editor_compares_stories_only_for_what_comes_back() -> None:
    (stories_read,), (novel,) = (reading_requests(written(genre=genre)) for genre in ("Short stories", "Novel"))

    assert "Each chapter of this book is a story of its own" in stories_read.texts[0]
    assert "the same device, phrase, number or name" in stories_read.texts[0]
    assert "a story of its own" not in novel.texts[0]


async def test_a_blurb_says_where_several_stories_begin() -> None:
    short, long = Scripted(courteous), Scripted(courteous)

    await blurb.draft_blurb(written(), short)
    await blurb.draft_blurb(written(words=8_000), long)

    assert "where three to five of them begin" in short.calls[0][0].system[0].text
    assert "It ended." in short.calls[0][0].texts[-1]
    told = long.calls[0][0].texts[-1]
    assert all(f"Story {number} begins." in told for number in (1, 2, 3))
    assert "It ended." not in told


def test_a_cover_shows_the_people_of_several_stories_and_no_ending() -> None:
    material = written()
    material = replace(material, book=replace(material.book, blurb="Eleanor lays a laser on the table."))

    for spoils in (False, True):
        told = cover_art.portrait(material, spoils=spoils)
        assert "Who it is about: Eleanor: 61, a widow who measures; Douglas: 54, a ferry purser; Hebert" in told
        assert "About: People who go to court." in told
        assert "How it ends" not in told
        assert "The fence." not in told


async def test_a_proofreader_gets_the_names_of_the_story() -> None:
    steps = Scripted(lambda request, told, call: '{"edits": []}')
    material = written()
    chapter = material.chapters[1]

    await edits.proposed(material.book, chapter, edits.windows(chapter.content)[0], steps, WINDOW)

    (told,) = (request.system[0].text for request, _ in steps.calls)
    assert "in this book: Douglas; The clerk; Oban." in told
    assert "claimant" in told
