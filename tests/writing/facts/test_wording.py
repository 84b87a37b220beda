"""Notes that say the same in other words are compared only where that is certain."""

from __future__ import annotations

import pytest

from bookgen.models import Fact, FactEvent, FactKind
from bookgen.writing.facts.contradictions import contradictions, short_forms
from bookgen.writing.facts.wording import is_form_of, key, lies_in, says_the_same


@pytest.mark.parametrize(
    ("place", "around"),
    [
        ("the lounge of the Harbour Hotel", "Harbour Hotel"),
        ("a café in Trieste", "Trieste"),
        ("Matera, i Sassi", "Matera"),
        ("rynek w Drohobyczu", "Drohobycz"),
        ("Mardin çarşısı", "Mardin"),
        ("函館の朝市", "函館"),
    ],
)
def test_a_place_lies_in_the_one_whose_proper_name_it_has(place: str, around: str) -> None:
    assert lies_in(place, around)


@pytest.mark.parametrize(
    ("place", "around"),
    [
        ("Ada's house", "the house"),
        ("the station at Brno", "the station"),
        ("Trieste Street", "Trieste"),
        ("Trieste", "Trieste"),
        ("港の灯台", "灯台"),
        ("函館山", "函館"),
    ],
)
def test_a_common_noun_or_another_name_is_no_place_around(place: str, around: str) -> None:
    assert not lies_in(place, around)


def test_where_every_noun_has_a_capital_a_single_word_is_no_proper_name() -> None:
    assert not lies_in("die Küche in Haus", "Haus", nouns_are_capitalised=True)
    assert lies_in("die Bar im Hotel Adler", "Hotel Adler", nouns_are_capitalised=True)


def test_clauses_are_the_same_in_any_order_of_their_words_and_with_all_of_them() -> None:
    assert says_the_same("die brücke soll gesprengt werden", "die brücke gesprengt werden soll")
    assert not says_the_same("the dam is cracked", "the dam is not cracked")


def test_forms_of_a_word_share_a_stem_and_digits_have_none() -> None:
    assert is_form_of("stottert", "stotterte")
    assert not is_form_of("maria", "mario")
    assert not is_form_of("19581", "19582")


def test_vowel_signs_do_not_break_a_word() -> None:
    assert key("मीरा जोशी") == "मीरा जोशी"
    assert key("นายแดง!") == "นายแดง"


def test_an_east_asian_name_is_known_by_what_it_begins_or_ends_with_if_no_other_does() -> None:
    forms = short_forms(["佐藤健", "佐々木葵", "김민준"])

    assert forms["佐藤"] == "佐藤健"
    assert forms["민준"] == "김민준"
    assert "佐藤" not in short_forms(["佐藤健", "佐藤葵"])


def fact(chapter: int, event: FactEvent, subject: str, value: str) -> Fact:
    kind = {"leaves": FactKind.PLACE, "is_in": FactKind.PLACE, "at": FactKind.OBJECT}[event]
    return Fact(chapter, kind, subject, value, f"{subject} {value} {chapter}", event)


def test_an_object_with_two_people_of_the_bible_is_found_without_a_fact_that_they_act() -> None:
    story = [fact(1, FactEvent.AT, "the seal", "Ada Brook"), fact(2, FactEvent.AT, "the seal", "Cy Lark")]

    assert [each.rule for each in contradictions(story, ["Ada Brook", "Cy Lark"])] == ["two_places"]
    assert contradictions(story, ["Ada Brook"]) == []


def test_somebody_who_has_left_a_place_for_good_is_not_in_a_part_of_it() -> None:
    left = fact(1, FactEvent.LEAVES, "Ada", "Trieste")

    assert [each.rule for each in contradictions([left, fact(2, FactEvent.IS_IN, "Ada", "a café in Trieste")])] == [
        "place_left"
    ]
    assert contradictions([left, fact(2, FactEvent.IS_IN, "Ada", "Trieste Street")]) == []
