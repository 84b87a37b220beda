"""What the author has corrected, where the book surely says otherwise."""

from __future__ import annotations

import pytest

from bookgen.models import Fact, FactKind, FactStatus
from bookgen.writing.facts.corrections import corrected_by_bible, outdated


def aged(value: str, quote: str, noted: str = "", chapter: int = 1, status: FactStatus = FactStatus.SETTLED) -> Fact:
    return Fact(chapter, FactKind.PERSON, "Ada", value, quote, noted=noted, status=status)


def test_a_passage_that_says_the_former_value_is_found_in_every_chapter() -> None:
    corrected = aged("61 years old", "Ada was 58", noted="58 years old")
    again = aged("58 years old", "at 58 she", chapter=4)

    assert [each.later for each in outdated([corrected, again])] == [corrected, again]
    assert outdated([corrected])[0].why == "The author has settled: Ada: 61 years old."


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
def test_what_is_not_certain_is_not_said(noted: str, value: str, quote: str) -> None:
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
def test_a_changed_entry_of_the_bible_corrects_the_facts_that_have_its_former_words(
    old: str, new: str, value: str, quote: str, corrected: str | None
) -> None:
    before, after = ({"people": [{"name": "Ada", "description": text}]} for text in (old, new))
    fact = aged(value, quote)
    other = Fact(1, FactKind.PERSON, "Bruno", value, quote)

    found = corrected_by_bible(before, after, [fact, other])

    assert found == ([(fact, corrected)] if corrected else [])
