"""The facts in a reply: only those that the chapter supports, in the order of its text."""

from __future__ import annotations

import json
import re

import pytest

from bookgen.models import Fact, FactEvent, FactKind
from bookgen.writing.facts.noting import FORM, KIND_OF, KINDS, MAX_FACTS, NON_FICTION_KINDS, form, read_facts, schema
from bookgen.writing.language import NAMES
from bookgen.writing.structured import Malformed
from tests.writing.scripted import a_book

CHAPTER = "Ada was fifty-eight. She left Trieste on the night train.\n\nBruno said: “I know who wrote it.”"
ADA = {"kind": "person", "subject": "Ada", "value": "fifty-eight", "quote": "Ada was fifty-eight"}
LEFT = {"kind": "leaves", "subject": "Ada", "value": "Trieste", "quote": "She left Trieste on the night train"}


def read(*entries: object, threads: tuple[str, ...] = ()) -> list[Fact]:
    return list(read_facts({"facts": list(entries)}, 3, CHAPTER, threads))


def test_facts_get_the_kind_of_their_event_and_the_order_of_their_quotes() -> None:
    assert read(LEFT, ADA) == [
        Fact(3, FactKind.PERSON, "Ada", "fifty-eight", "Ada was fifty-eight"),
        Fact(3, FactKind.PLACE, "Ada", "Trieste", "She left Trieste on the night train", FactEvent.LEAVES),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {**ADA, "quote": "Ada was fifty-nine"},
        {**ADA, "quote": "ada was fifty-eight"},
        {**ADA, "quote": ""},
        {**ADA, "quote": "A"},
        {**ADA, "kind": "rumour"},
        {**ADA, "subject": " "},
        {**ADA, "value": None},
        {**ADA, "value": "x" * 301},
        {**ADA, "kind": "thread_closed", "value": "7"},
        "Ada is fifty-eight.",
        None,
    ],
)
def test_a_fact_without_support_in_the_chapter_is_dropped(entry: object) -> None:
    assert read(entry) == []


def test_a_quote_is_stored_as_the_chapter_has_it() -> None:
    (fact,) = read({"kind": "knows", "subject": "Bruno", "value": "who wrote it", "quote": '"I know who wrote it."'})

    assert fact.quote == "“I know who wrote it.”"


def test_a_closed_thread_is_referred_to_by_its_number() -> None:
    closing = {**ADA, "kind": "thread_closed", "value": 2}

    assert read(closing, threads=("Who?", "Why?"))[0].value == "Why?"


def test_facts_are_limited_and_never_duplicated() -> None:
    many = [{**ADA, "value": str(number)} for number in range(40)]

    assert len(read(*many, *many)) == MAX_FACTS
    assert len(read(ADA, ADA)) == 1


def test_a_reply_without_a_list_of_facts_is_malformed() -> None:
    with pytest.raises(Malformed):
        read_facts({"facts": "none"}, 1, CHAPTER, ())


def test_the_form_lists_every_kind_and_uses_the_units_of_its_language() -> None:
    assert [kind for kind in KINDS if f'"{kind}"' not in FORM] == []
    assert set(KIND_OF) == set(FactEvent)
    assert all(json.dumps(form(a_book(content_language=code))) for code in NAMES)
    chinese = form(a_book(content_language="zh"))
    assert "in at most 24 characters" in chinese
    assert "6 to 28 characters" in chinese


def test_a_non_fiction_book_is_asked_for_what_it_says_and_not_for_what_happens_in_a_story() -> None:
    asked = form(a_book(genre="Travel guide"))

    named = set(re.findall(r'"([a-z_]+)"', asked)) - {"facts", "kind", "subject", "value", "quote"}
    assert named == set(NON_FICTION_KINDS) < set(KINDS)
    assert '"dies"' in form(a_book(genre="Novel"))
    allowed = [json.dumps(schema(a_book(genre=genre))) for genre in ("Travel guide", "Novel")]
    assert ['"dies"' in each for each in allowed] == [False, True]
