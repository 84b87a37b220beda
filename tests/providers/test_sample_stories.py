"""The sample stories: complete in any division, used for books of similar length, with notes that match their text."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.story import FOLDER, SCENE_BREAK, load, telling_for, told_in
from bookgen.providers.text import Message, TextRequest
from bookgen.words import count_words

LANGUAGES = ("en", "de", "fr", "es")
DIVISIONS = [("en", count) for count in (1, 3, 5, 10, 12, 20, 40)] + [
    (tag, n) for tag in ("de", "fr", "es") for n in (1, 3, 5, 8)
]
BOOK = {
    "language": "en",
    "title": "Mine",
    "genre": "",
    "audience": "",
    "chapter_count": 10,
    "total": 20_000,
    "seed": "",
}


def files(language: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((FOLDER / language).glob("*.md"))]


def notes(language: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / language / "story.toml").read_text(encoding="utf-8"))


def paragraphs(text: str) -> list[str]:
    return [block for block in text.split("\n\n") if block != SCENE_BREAK]


async def ask(stage: str, *said: str, schema: dict[str, Any] | None = None, **fields: object) -> str:
    messages = [*(Message("assistant", text) for text in said), Message("user", "Please.")]
    request = TextRequest(stage, (), tuple(messages), 4000, schema=schema, brief={**BOOK, **fields})
    return (await OfflineModel().complete(request)).text


def planned(number: int) -> dict[str, object]:
    return {"chapter_number": number, "chapter_title": told_in("en", 10)[number - 1].title}


async def chapter(number: int, *said: str, part: int = 1, parts: int = 1, words: int = 2000, **fields: object) -> str:
    """A part of a chapter of a book with the story's outline."""
    told = telling_for(Brief({**BOOK, **fields}, ""))
    title = told.chapters[number - 1].title if told else ""
    asked = {"chapter_title": title, "part": part, "parts": parts, "words": words, "task": "write", **fields}
    return await ask("chapter", *said, chapter_number=number, **asked)


def test_the_english_story_has_ten_chapters_of_two_thousand_words() -> None:
    words = [count_words(text) for text in files("en")]

    assert len(words) == 10
    assert all(1_800 <= each <= 2_200 for each in words)
    assert 19_400 <= sum(words) <= 20_600


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_notes_of_a_story_match_its_text(language: str) -> None:
    texts, story = files(language), notes(language)
    scenes = [scene for each in story["chapters"] for scene in each["scenes"]]

    assert story["license"] == "CC0-1.0"
    assert [len(each["scenes"]) for each in story["chapters"]] == [
        text.count(f"\n{SCENE_BREAK}\n") + 1 for text in texts
    ]
    assert len({scene["title"] for scene in scenes}) == len({scene["told"] for scene in scenes}) == len(scenes)
    opened: set[str] = set()
    for scene in scenes:
        assert set(scene.get("closes", ())) <= opened
        opened |= set(scene.get("opens", ()))


@pytest.mark.parametrize(("language", "count"), DIVISIONS)
def test_the_story_is_complete_in_any_number_of_chapters(language: str, count: int) -> None:
    chapters = told_in(language, count)

    assert len(chapters) == count
    assert [block for each in chapters for block in paragraphs(each.text)] == [
        block.strip() for text in files(language) for block in paragraphs(text.strip())
    ]
    assert len({each.title for each in chapters}) == len({each.summary for each in chapters}) == count


@pytest.mark.parametrize(("language", "count"), DIVISIONS)
def test_chapters_have_about_equal_length(language: str, count: int) -> None:
    lengths = [count_words(each.text) for each in told_in(language, count)]

    assert all(abs(length * count / sum(lengths) - 1) < 0.25 for length in lengths)


@pytest.mark.parametrize("count", [5, 10])
def test_chapters_start_where_the_storys_own_chapters_do_if_possible(count: int) -> None:
    titles = {each["title"] for each in notes("en")["chapters"]}

    assert all(each.title in titles for each in told_in("en", count))


def test_a_summary_or_a_digest_is_never_cut_short() -> None:
    for language in LANGUAGES:
        for count in range(1, 9):
            for each in told_in(language, count):
                assert 0 < len(each.summary) <= 1_200
                assert each.summary.endswith((".", "?", "!", "»", "”", "“"))


async def test_the_outline_is_that_of_the_story() -> None:
    reply = json.loads(await ask("outline", schema=OUTLINE, first=1, last=10))

    assert [each["title"] for each in reply["chapters"].values()] == [each["title"] for each in notes("en")["chapters"]]
    assert "weigher" in reply["bible"]["premise"]


async def test_a_digest_is_that_of_the_story() -> None:
    reply = json.loads(await ask("digest", **planned(2), threads=[]))

    assert reply["threads_closed"] == ["What weighs eleven stone nine in number 14 on Thursdays?"]
    assert reply["facts"] == [], "no chapter was sent that could be quoted"
    assert reply["summary"] == notes("en")["chapters"][1]["summary"]


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
async def test_the_parts_of_a_chapter_add_up_to_the_chapter(parts: int) -> None:
    said: list[str] = []
    for part in range(1, parts + 1):
        said.append(await chapter(6, *said, part=part, parts=parts, words=1_900 // parts))

    assert "\n\n".join(said) == told_in("en", 10)[5].text
    assert all(count_words(each) == pytest.approx(1_900 / parts, abs=120) for each in said)
    assert await chapter(6, *said, part=parts + 1, parts=parts + 1, words=100, task="extend") == ""


async def test_no_scene_break_is_lost_between_two_parts() -> None:
    whole = told_in("en", 10)[5].text
    first_scene = count_words(whole[: whole.index(f"\n{SCENE_BREAK}\n")])

    first = await chapter(6, part=1, parts=2, words=first_scene)
    second = await chapter(6, first, part=2, parts=2)

    assert f"{first}\n\n{second}" == whole
    assert not second.startswith(SCENE_BREAK)


def test_a_question_answered_in_its_own_chapter_is_not_an_open_thread() -> None:
    (whole,) = told_in("en", 1)

    assert (whole.digest["threads_opened"], whole.digest["threads_closed"]) == ([], [])


async def test_a_part_continues_after_one_that_broke_off() -> None:
    whole = told_in("en", 10)[5].text
    broken_off = whole[: whole.index("The committee was one man")].rstrip()

    assert (await chapter(6, broken_off, task="continue")).startswith("The committee was one man, called Barry")


async def test_the_first_page_says_that_it_is_the_sample_story() -> None:
    note, text = (await chapter(1)).split("\n\n", 1)

    assert note == (
        "*This is bookgen’s sample story. Set ANTHROPIC_API_KEY or OPENAI_API_KEY and the same command writes your own "
        "book.*"
    )
    assert text == told_in("en", 10)[0].text
    assert (await chapter(2)) == told_in("en", 10)[1].text


async def test_a_shorter_book_gets_the_beginning_of_the_story() -> None:
    first = [await chapter(number, chapter_count=3, total=3_000) for number in (1, 2, 3)]

    note, text = first[0].split("\n\n", 1)
    assert note.startswith("*This is the beginning of bookgen’s sample story.")
    told = [block for each in (text, *first[1:]) for block in paragraphs(each)]
    assert told == [block for each in told_in("en", 10) for block in paragraphs(each.text)][: len(told)]
    assert count_words("\n\n".join(told)) == pytest.approx(3_000, rel=0.1)


async def test_a_repair_leaves_a_passage_of_the_story_as_it_is() -> None:
    assert await ask("revise", **planned(1), passage="She did not round.", words=4) == "She did not round."


async def test_a_chapter_with_another_plan_is_written_from_that_plan() -> None:
    text = await chapter(3, chapter_title="The Fair", chapter_summary="Ida hides the silver lighter.", words=300)

    assert "silver lighter" in text
    assert count_words(text) == pytest.approx(300, abs=12)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_book_of_the_storys_length_gets_the_story(language: str) -> None:
    story = load(language)

    told = story and telling_for(Brief({**BOOK, "language": language, "total": story.words, "chapter_count": 4}, ""))

    assert told is not None
    assert told.story is story
    assert told.is_whole


@pytest.mark.parametrize(
    "other",
    [
        {"total": 24_000},
        {"total": 1_900},
        {"language": "it"},
        {"language": "de"},  # there is one, but it is short
        {"chapter_count": 41},
        {"chapter_count": 10, "total": 3_000},
        {"genre": "Business"},
        {"genre": "Poetry"},
        {"genre": "Memoir"},
        {"audience": "Children of nine"},
        {"ages": "3-5"},
    ],
)
def test_other_books_do_not_get_the_story(other: dict[str, Any]) -> None:
    assert telling_for(Brief({**BOOK, **other}, "")) is None


@pytest.mark.parametrize("genre", ["", "Literary fiction", "Historical fiction", "Mystery novel"])
def test_any_prose_fiction_gets_the_story(genre: str) -> None:
    assert telling_for(Brief({**BOOK, "genre": genre}, "")) is not None


TEXT = {"type": "string"}
CHAPTER = {"type": "object", "properties": {"title": TEXT, "summary": TEXT}}
OUTLINE = {
    "type": "object",
    "properties": {
        "bible": {"type": "object", "properties": {"premise": TEXT}},
        "chapters": {"type": "object", "properties": {f"chapter_{number}": CHAPTER for number in range(1, 11)}},
    },
}
