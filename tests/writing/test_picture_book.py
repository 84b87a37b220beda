"""Writing children's books: a plan, then texts for the age, and descriptions of their pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bookgen.models import AgeRange, BookKind, Chapter
from bookgen.providers.text import TextRequest
from bookgen.writing.kinds import draft_outline, write_chapter
from bookgen.writing.material import ChapterDraft, Material
from bookgen.writing.picture_book import pictures
from bookgen.writing.picture_book.ages import AGE_LIMITS
from bookgen.writing.picture_book.readability import difficulties
from bookgen.writing.structured import UnusableReply
from tests.writing.scripted import Scripted, a_book, a_chapter, outline_reply

PIP = {"name": "Pip", "description": "a small grey mouse with a red scarf"}
EASY = "Pip looks up.\nThe moon is big and round.\n“Good night, moon,” says Pip."
HARD = (
    "Notwithstanding the melancholy resplendence of the crepuscular firmament, our diminutive protagonist "
    "endeavoured to contemplate the ineffable luminosity of the celestial sphere until it was late."
)
BIBLE = {"premise": "A walk.", "voice": "Present tense, watercolour.", "people": [PIP], "places": [], "terms": []}


def picture_book(spreads: int = 3, *, ages: AgeRange = AgeRange.PRESCHOOLERS, **fields: Any) -> Material:
    told = {"bible": BIBLE, "content_language": "en", **fields}
    book = replace(a_book(), kind=BookKind.CHILDRENS, age_range=ages, chapter_count=spreads, characters=[PIP], **told)
    chapters = tuple(spread(number) for number in range(1, spreads + 1))
    return Material(book, chapters)


def spread(number: int, **fields: Any) -> Chapter:
    told = {"title": f"Moment {number}", "summary": f"Pip does thing {number}.", **fields}
    return replace(a_chapter(number, words=34), **told)


def replies(*texts: str) -> Scripted:
    waiting = list(texts)

    def answer(request: TextRequest, brief: dict[str, Any], call: int) -> str:
        if request.stage == "outline":
            return outline_reply(brief)
        return json.dumps({"text": waiting.pop(0), "picture": "Pip in the garden", "alt": "Pip looks at the moon."})

    return Scripted(answer)


async def write(steps: Scripted, material: Material | None = None, number: int = 1) -> ChapterDraft:
    return await write_chapter(material or picture_book(), number, steps)


async def test_a_spread_has_its_lines_as_paragraphs_and_a_scene_for_the_picture() -> None:
    draft = await write(replies(EASY))

    assert draft.content == EASY.replace("\n", "\n\n")
    assert draft.word_count == 14
    assert draft.scene is not None
    assert (draft.scene.picture, draft.scene.alt) == ("Pip in the garden", "Pip looks at the moon.")
    assert (draft.plan, draft.findings, draft.digest) == (None, (), None)


async def test_a_text_too_hard_for_its_age_is_kept_with_findings() -> None:
    steps = replies(HARD)

    draft = await write(steps)

    assert draft.content == HARD
    assert {finding.kind for finding in draft.findings} == {"sentence_length", "vocabulary"}
    assert len(steps.of_stage("chapter")) == 1


async def test_sound_words_and_words_from_the_books_plan_are_not_hard() -> None:
    voice = "Present tense. The refrain: 'Plip, said the rain.'"
    material = picture_book(bible={**BIBLE, "voice": voice})
    first = replace(material.chapters[0], summary="Grandma Wren lays a pebble beside the bucket.")
    text = "Grandma Wren brings one pebble.\nPip puts the pebble down.\nPlip, plip, plip, says the rain."

    draft = await write(replies(text), replace(material, chapters=(first, *material.chapters[1:])))

    assert draft.findings == ()


async def test_a_spread_does_not_get_the_plot_of_the_whole_book() -> None:
    steps = replies(EASY)

    await write(steps, picture_book(bible={}))

    assert "an obstacle, a try, another try" in steps.of_stage("outline")[0].messages[0].text
    assert "an obstacle" not in steps.of_stage("chapter")[0].messages[0].text


async def test_a_reply_without_a_text_is_repaired_and_is_then_an_error() -> None:
    assert (await write(replies("", EASY))).content.startswith("Pip looks up.")
    with pytest.raises(UnusableReply) as unusable:
        await write(replies("", "", ""))
    assert unusable.value.retryable


async def test_earlier_spreads_are_given_word_for_word_to_the_next() -> None:
    material = picture_book()
    written = replace(material.chapters[0], content="Pip wakes up.")
    steps = replies(EASY)

    await write(steps, replace(material, chapters=(written, *material.chapters[1:])), number=2)

    asked = steps.of_stage("chapter")[0].messages[-1].text
    assert "Pip wakes up." in asked
    assert "Pip does thing 3." in asked, "what comes next"


async def test_a_book_without_a_plan_gets_one_first_and_the_owners_spread_stays() -> None:
    material = picture_book(bible={})
    own = tuple(spread(n, summary="" if n != 2 else "Pip finds a drum.") for n in (1, 2, 3))
    steps = replies(EASY)

    draft = await write(steps, replace(material, chapters=own), number=2)

    assert draft.plan is not None
    assert len(draft.plan.chapters) == 3
    assert "Pip finds a drum." in steps.of_stage("outline")[0].messages[-1].text
    assert "Pip finds a drum." in steps.of_stage("chapter")[0].messages[-1].text


async def test_a_plan_has_all_spreads_with_the_word_count_for_the_age() -> None:
    outline = await draft_outline(picture_book(5, ages=AgeRange.TODDLERS).book, replies())

    assert [chapter.target_word_count for chapter in outline.chapters] == [14] * 5
    assert outline.bible["people"]


def test_every_picture_prompt_describes_the_hero_in_the_same_words() -> None:
    book = picture_book().book

    asked = [pictures.sheet(book), *(pictures.prompt(book, f"Pip does thing {n}") for n in range(3))]

    for prompt in asked:
        assert "Pip: a small grey mouse with a red scarf" in prompt
        assert "watercolour" in prompt
        assert "No text" in prompt


@pytest.mark.parametrize("ages", AgeRange)
def test_everyday_text_is_easy_for_every_age(ages: AgeRange) -> None:
    assert difficulties("Pip looks up. The moon is big.", AGE_LIMITS[ages], "en", ["Pip"]) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The cat sits on the mat and looks at the melancholic phosphorescent iridescence."),
        ("de", "Die Katze sitzt da und sieht die melancholische Phosphoreszenz der Dämmerungserscheinung."),
        ("fr", "Le chat regarde la phosphorescence mélancolique, crépusculaire et chatoyante du firmament."),
        ("es", "El gato mira la fosforescencia melancólica, crepuscular y tornasolada del firmamento."),
    ],
)
def test_rare_words_are_found_in_languages_with_a_word_list(language: str, text: str) -> None:
    found = difficulties(text, AGE_LIMITS[AgeRange.READERS], language, [])

    assert [each.kind for each in found] == ["vocabulary"]


def test_names_and_the_owners_words_are_not_rare_words() -> None:
    text = "Zwirbel meets Quaxi. Zwirbel's phosphorescence shines and Quaxi likes it so much."
    known = ["Zwirbel and Quaxi", "phosphorescence"]

    assert difficulties(text, AGE_LIMITS[AgeRange.FIRST_READERS], "en", known) == []
    assert difficulties(text, AGE_LIMITS[AgeRange.FIRST_READERS], "en", []) != []


def test_without_a_word_list_sentences_are_still_checked() -> None:
    def kinds(text: str, language: str) -> set[str]:
        return {each.kind for each in difficulties(text, AGE_LIMITS[AgeRange.TODDLERS], language, [])}

    assert kinds("小老鼠" * 20 + "。", "zh") == {"sentence_length", "text_length"}
    assert kinds("形而上学的認識論" * 8 + "。", "ja-JP") == {"sentence_length", "text_length"}
    assert kinds("Akkretionsscheiben umkreisen extragalaktische Quasare exzentrisch, quasiperiodisch.", "de-AT") == {
        "vocabulary"
    }
