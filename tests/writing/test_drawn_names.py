"""Suggestions drawn by code for a story: names, trades and towns, and which of several premises is used."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from bench.names import drawn, planned
from bookgen.models import AgeRange
from bookgen.person_names import REGIONS, deal, pool
from bookgen.writing import drawn_names
from bookgen.writing.kinds import draft_outline
from tests.writing.scripted import Scripted, a_book, obedient, outline_reply
from tests.writing.test_picture_book import picture_book

CONTRACT = set("en de fr es it pt nl pl cs sv tr ru uk el vi zh ja ko ar he hi".split())  # noqa: SIM905
SHORT = "A ferry stops running."


async def first_prompt(**fields: object) -> str:
    steps = Scripted(obedient)

    await draft_outline(a_book(chapter_count=2, **{"bible": {}, "description": SHORT, **fields}), steps)

    return steps.calls[0][0].messages[0].text


@pytest.mark.parametrize("genre", ["Novel", "Fantasy", "Children's fiction", "Western"])
async def test_a_story_gets_suggested_names_in_its_language(genre: str) -> None:
    prompt = await first_prompt(genre=genre, content_language="en-GB")

    women = prompt.partition("women: ")[2].partition(";")[0].split(", ")
    assert len(women) == drawn_names.NAMES_EACH
    assert set(women) <= set(pool("en").women)


@pytest.mark.parametrize("genre", ["Guide", "Memoir", "Poetry", "Sachbuch"])
async def test_a_book_that_is_not_a_story_gets_no_suggestions(genre: str) -> None:
    prompt = await first_prompt(genre=genre)

    assert "by lot" not in prompt
    assert "premises" not in prompt


async def test_a_picture_book_gets_names_but_no_trades_or_premises() -> None:
    told = await drawn_names.names_prompt(
        replace(picture_book(5, ages=AgeRange.TODDLERS).book, description="", theme="courage")
    )

    assert "women: " in told
    assert "for a living" not in told


async def test_a_detailed_idea_keeps_its_own_premise_and_setting() -> None:
    idea = "Ines keeps the weighbridge of a small town. " * 10

    prompt = await first_prompt(genre="Novel", description=idea)

    assert "women: " in prompt
    assert "for a living" not in prompt
    assert "premises" not in prompt


async def test_nothing_is_suggested_for_what_the_author_has_decided() -> None:
    settled = {
        "premise": "A bridge is sold twice.",
        "people": [{"name": "Ines", "description": "sells bridges"}],
        "places": [{"name": "Sund", "description": "a harbour"}],
    }

    prompt = await first_prompt(genre="Novel", authored_bible=settled)

    assert "premises" not in prompt
    assert "for a living" not in prompt
    assert "where the story is set" not in prompt


async def test_a_short_idea_is_planned_from_one_of_the_less_likely_premises_in_one_call() -> None:
    chosen = []

    def proposes(request, brief, call):
        text = request.messages[0].text
        chosen.append(int(text.partition("Plan number ")[2].split()[0]))
        assert list(request.schema["properties"]) == ["premises", "bible", "chapters", "plans"]
        premises = [{"premise": f"Premise {number}.", "probability": 0.5 / number} for number in range(1, 6)]
        return json.dumps({"premises": premises, **json.loads(outline_reply(brief))})

    for number in range(1, 41):
        steps = Scripted(proposes)
        outline = await draft_outline(
            replace(a_book(chapter_count=2, bible={}, genre="Novel", description=SHORT), id=number), steps
        )
        assert len(steps.calls) == 1
        assert "premises" not in outline.bible

    assert set(chosen) == {3, 4, 5}


@pytest.mark.parametrize(
    ("tag", "town", "letters"),
    [
        ("ja", "調布市", "々぀-ヿ一-鿿"),
        ("ru", "Великий Устюг", "Ѐ-ӿ -"),
        ("zh-Hant", "花蓮", "一-鿿"),
        ("de", "Bensheim", "A-ž -"),
    ],
)
def test_towns_are_written_in_the_script_of_the_book(tag: str, town: str, letters: str) -> None:
    towns = drawn_names.towns_of(tag)

    assert town in towns
    assert [each for each in towns if not re.fullmatch(f"[{letters}]+", each)] == []


async def test_a_language_whose_towns_are_only_known_in_another_script_gets_none() -> None:
    prompt = await drawn_names.names_prompt(a_book(bible={}, genre="Novel", description=SHORT, content_language="hi"))

    assert "women: " in prompt
    assert "where the story is set" not in prompt


async def test_suggestions_repeat_for_the_same_book_and_differ_for_another_book_or_outline() -> None:
    book = a_book(bible={}, genre="Novel", description=SHORT)

    first = await drawn_names.names_prompt(book)

    assert await drawn_names.names_prompt(book) == first
    assert await drawn_names.names_prompt(replace(book, id=book.id + 1)) != first
    assert await drawn_names.names_prompt(replace(book, bible={"premise": "The last outline."})) != first


async def test_a_language_without_names_gets_none() -> None:
    assert "women: " not in await drawn_names.names_prompt(a_book(bible={}, genre="Novel", content_language="th"))


def test_names_with_mc_have_a_capital_after_it() -> None:
    names = pool("en").surnames

    assert "McBride" in names
    assert not [name for name in names if name.startswith("Mc") and name[2:3].islower()]


@pytest.mark.parametrize("language", REGIONS)
def test_every_language_has_names_and_each_is_in_one_list_only(language: str) -> None:
    names = pool(language)

    assert names.women
    assert names.men
    assert not set(names.women) & set(names.men)
    assert not set(names.surnames) & {*names.women, *names.men}


def test_every_language_that_the_contract_names_has_names() -> None:
    assert set(REGIONS) >= CONTRACT


@pytest.mark.parametrize("language", ["en", "ko", "pl", "uk", "zh"])  # all others: `python -m bench.names`
def test_of_1000_books_no_name_is_offered_to_more_than_twenty(language: str) -> None:
    counted: Counter[str] = Counter()

    for turn in range(20, 1_020):
        dealt = deal(language, turn, drawn_names.NAMES_EACH)
        counted.update((*dealt.women, *dealt.men, *dealt.surnames))

    assert max(counted.values()) <= 20, counted.most_common(1)


def test_books_that_follow_each_other_share_no_name_until_a_list_is_used_up() -> None:
    names = pool("ko")

    men = [name for turn in range(len(names.men)) for name in deal("ko", turn, 4).men]

    assert sorted(men) == list(names.men)


def test_chinese_names_are_written_in_the_script_of_the_book() -> None:
    simple, traditional = pool("zh"), pool("zh-Hant")

    assert {"雅婷", "芳"} <= set(simple.women)
    assert not {"麗華", "麗娟"} & set(simple.women)
    assert {"麗華", "秀英"} <= set(traditional.women)
    assert not {"丽华", "丽娟"} & set(traditional.women)


async def test_hardly_any_book_has_the_words_of_every_model() -> None:
    offered, offline = drawn("en", 400), await planned("en", 400)

    for found in (offered, offline):
        assert found.share <= 2.5, found  # the offline model takes names by lot
        assert found.words <= 5, found


def test_faker_is_imported_only_when_a_name_is_drawn() -> None:
    program = (
        "import sys, bookgen.app.serve, bookgen.person_names, bookgen.providers.offline\n"
        "assert 'faker' not in sys.modules\n"
        "bookgen.person_names.pool('en')\n"
        "assert 'faker' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
