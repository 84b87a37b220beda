"""The author's corrections, where the book clearly says otherwise."""

from __future__ import annotations

import pytest

from bookgen.models import Fact, FactKind, FactStatus
from bookgen.writing.facts.corrections import MAX_CHANGES, corrected_by_bible, outdated, outdated_by_bible, with_changes


def aged(value: str, quote: str, noted: str = "", chapter: int = 1, status: FactStatus = FactStatus.SETTLED) -> Fact:
    return Fact(chapter, FactKind.PERSON, "Ada", value, quote, noted=noted, status=status)


def test_a_passage_with_the_old_value_is_found_in_every_chapter() -> None:
    corrected = aged("61 years old", "Ada was 58", noted="58 years old")
    again = aged("58 years old", "at 58 she", chapter=4)

    assert [each.later for each in outdated([corrected, again])] == [corrected, again]
    assert outdated([corrected])[0].why == "The author has corrected this fact: Ada: 61 years old."


@pytest.mark.parametrize(
    ("noted", "value", "quote"),
    [
        ("58 years old", "61 years old", "Ada was fifty-eight"),
        ("58 years old", "61 years old", "not 58 but 61"),
        ("a nurse", "the nurse", "She was a nurse"),
        ("grey eyes", "grey eyes, and a scar", "her grey eyes"),
        ("left-handed", "Left-handed", "left-handed"),
    ],
)
def test_an_uncertain_match_is_not_reported(noted: str, value: str, quote: str) -> None:
    assert outdated([aged(value, quote, noted)]) == []


def test_intended_and_wrong_facts_are_not_reported() -> None:
    for status in (FactStatus.INTENDED, FactStatus.WRONG):
        assert outdated([aged("61 years old", "Ada was 58", "58 years old", status=status)]) == []


@pytest.mark.parametrize(
    ("old", "new", "value", "quote", "corrected"),
    [
        ("58, left-handed.", "61, left-handed.", "58 years old", "Ada was 58", "61 years old"),
        ("grey eyes", "green eyes", "has Grey eyes", "her grey eyes", "has green eyes"),
        ("五十八岁，左撇子", "六十一岁，左撇子", "五十八岁", "她五十八岁", "六十一岁"),
        ("58, left-handed.", "61, left-handed.", "58 years old", "Ada was fifty-eight", None),
        ("58, left-handed.", "61, lame.", "58 years old", "Ada was 58", None),
        ("", "61, left-handed.", "58 years old", "Ada was 58", None),
    ],
)
def test_changing_a_bible_entry_corrects_the_facts_with_its_old_words(
    old: str, new: str, value: str, quote: str, corrected: str | None
) -> None:
    before, after = ({"people": [{"name": "Ada", "description": text}]} for text in (old, new))
    fact = aged(value, quote)
    other = Fact(1, FactKind.PERSON, "Bruno", value, quote)

    found = corrected_by_bible(before, after, [fact, other])

    assert found == ([(fact, corrected)] if corrected else [])


def people(*entries: tuple[str, str]) -> dict[str, list[dict[str, str]]]:
    return {"people": [{"name": name, "description": description} for name, description in entries]}


FORMER, PRESENT = people(("Ada Brook", "58, left-handed.")), people(("Ada Brook", "61, left-handed."))
RENAMED = people(("Edda Brook", "58, left-handed."))


def reported(before: dict, after: dict, *facts: Fact, bible: dict | None = None) -> list[tuple[str, str]]:
    changes = with_changes([], before, after)
    return [(each.later.quote, each.why) for each in outdated_by_bible(bible or after, changes, facts)]


def test_a_fact_noted_after_the_change_is_compared_with_it() -> None:
    said = "The story bible now says: Ada Brook: 61, left-handed."

    assert reported(FORMER, PRESENT, aged("58 years old", "Ada was 58")) == [("Ada was 58", said)]


@pytest.mark.parametrize(
    "fact",
    [
        aged("61 years old", "not 58 but 61"),
        aged("58 years old", "Ada was fifty-eight"),
        aged("58 years old", "Ada was 58", status=FactStatus.INTENDED),
        aged("58 years old", "Ada was 58", status=FactStatus.WRONG),
        Fact(1, FactKind.PERSON, "Bruno", "58 years old", "Bruno was 58"),
    ],
)
def test_a_change_does_not_report_a_passage_that_may_be_right(fact: Fact) -> None:
    assert reported(FORMER, PRESENT, fact) == []


def test_a_reverted_change_is_removed() -> None:
    there = with_changes([], FORMER, PRESENT)
    back = with_changes(there, PRESENT, FORMER)

    assert reported(FORMER, PRESENT, aged("58 years old", "Ada was 58"), bible=FORMER) == []
    assert [each.later.quote for each in outdated_by_bible(FORMER, back, [aged("61 years", "at 61, Ada")])] == [
        "at 61, Ada"
    ]


def test_a_chapter_with_the_old_name_is_reported_once() -> None:
    facts = [Fact(chapter, FactKind.PERSON, "Ada Brook", "calm", "Ada Brook sat down") for chapter in (1, 1, 2)]
    other = Fact(3, FactKind.PERSON, "Ada Brook", "calm", "She sat down")

    said = ("Ada Brook sat down", "The author has renamed Ada Brook to Edda Brook.")
    assert reported(FORMER, RENAMED, *facts, other) == [said, said]
    assert reported(FORMER, people(("Edda Brook", "Another person."))) == []


def test_only_the_newest_changes_are_kept_and_each_once() -> None:
    changes: list = []
    for age in range(100):
        changes = with_changes(changes, people(("Ada", f"{age}, tall")), people(("Ada", f"{age + 1}, tall")))

    assert len(changes) == MAX_CHANGES
    assert changes[-1] == {"name": "ada", "was": "99", "is": "100"}
    assert with_changes(changes, people(("Ada", "99, tall")), people(("Ada", "100, tall"))) == changes
