"""Facts that cannot both be true, and facts that only seem so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.models import Fact, FactEvent, FactStatus
from bookgen.writing.facts.contradictions import contradictions, key
from bookgen.writing.facts.findings import fingerprint, notes_of
from bookgen.writing.facts.noting import KIND_OF
from tests.writing.scripted import a_book


def fact(chapter: int, event: str, subject: str, value: str = "") -> Fact:
    name = FactEvent(event)
    return Fact(chapter, KIND_OF[name], subject, value or "so", f"{chapter}: {subject} {event} {value}", name)


def rules(*facts: Fact, names: tuple[str, ...] = ()) -> list[str]:
    return [each.rule for each in contradictions(facts, names)]


DEAD = (fact(1, "dies", "Tobias"), fact(3, "acts", "Tobias"))
LEFT = (fact(1, "leaves", "Ada", "Trieste"), fact(2, "is_in", "Ada", "Trieste"))
BURNT = (fact(1, "gone", "the letter"), fact(2, "at", "the letter", "Ada"))
PEOPLE = (fact(1, "acts", "Ada"), fact(1, "acts", "Bruno"))
HELD = (*PEOPLE, fact(1, "at", "the key", "Ada"), fact(2, "at", "the key", "Bruno"))
KNOWN = (fact(1, "knows", "Ada", "who wrote it"), fact(4, "learns", "Ada", "Who wrote it?"))
BORN = (fact(1, "born", "Ada", "1950"), fact(2, "now", "the chapter", "1948-05"), fact(2, "acts", "Ada"))
CAUSE = (
    fact(1, "on", "the fire", "1962-05"),
    fact(2, "on", "the inquest", "1962-04-30"),
    fact(2, "after", "the inquest", "the fire"),
)
CERTAIN = {
    "dead_acts": DEAD,
    "place_left": LEFT,
    "gone_object": BURNT,
    "two_places": HELD,
    "known_before": KNOWN,
    "before_birth": BORN,
    "before_cause": CAUSE,
    "two_births": (fact(1, "born", "Ada", "1950"), fact(3, "born", "Ada", "1951-02")),
}


@pytest.mark.parametrize("rule", CERTAIN)
def test_an_impossible_pair_of_facts_is_found_once_with_both_passages(rule: str) -> None:
    (found,) = contradictions(CERTAIN[rule])

    assert found.rule == rule
    assert found.earlier.quote != found.later.quote
    assert found.later.chapter_number >= found.earlier.chapter_number


@pytest.mark.parametrize("rule", CERTAIN)
def test_facts_marked_intended_or_wrong_raise_no_contradiction(rule: str) -> None:
    (found,) = contradictions(CERTAIN[rule])

    for status in (FactStatus.INTENDED, FactStatus.WRONG):
        for decided in (found.earlier, found.later):
            facts = [replace(each, status=status) if each == decided else each for each in CERTAIN[rule]]
            assert rules(*facts) == []


@pytest.mark.parametrize(
    "facts",
    [
        tuple(reversed([replace(each, chapter_number=4 - each.chapter_number) for each in DEAD])),
        (DEAD[0], fact(2, "returns", "Tobias"), DEAD[1]),
        (*DEAD, fact(3, "returns", "Tobias")),
        (DEAD[0], fact(3, "back", "the chapter"), DEAD[1]),
        (fact(1, "now", "the chapter", "1962"), DEAD[0], fact(3, "now", "the chapter", "1950"), DEAD[1]),
        (fact(1, "now", "x", "1962"), fact(2, "now", "x", "1950"), *DEAD),
        (fact(1, "dies", "Tobias"), fact(1, "acts", "Tobias")),
        (fact(1, "dies", "Tobias"), fact(2, "acts", "Tobias Brook")),
        (LEFT[0], fact(2, "enters", "Ada", "Trieste"), LEFT[1]),
        (*LEFT, fact(2, "enters", "Ada", "Trieste")),
        (LEFT[0], fact(2, "is_in", "Bruno", "Trieste")),
        (BURNT[0], fact(2, "returns", "the letter"), BURNT[1]),
        (*HELD[:3], fact(2, "moved", "the key", "Bruno"), HELD[3]),
        (fact(1, "at", "the key", "the kitchen"), fact(2, "at", "the key", "the drawer")),
        (fact(1, "knows", "Ada", "who wrote it"), fact(4, "learns", "Bruno", "who wrote it")),
        (fact(1, "learns", "Ada", "who wrote it"), fact(4, "learns", "Ada", "who wrote it")),
        (fact(1, "born", "Ada", "1950"), fact(3, "born", "Ada", "1950-02-03")),
        (*CAUSE, fact(3, "on", "the fire", "1960")),
        (fact(1, "on", "the fire", "1962"), fact(2, "on", "the inquest", "1962-04"), CAUSE[2]),
        (fact(1, "on", "the fire", "in May"), *CAUSE[1:]),
    ],
)  # fmt: skip
def test_possible_facts_are_left_alone(facts: tuple[Fact, ...]) -> None:
    assert rules(*facts) == []


def test_a_person_is_recognised_by_a_part_of_the_name_that_nobody_else_has() -> None:
    facts = (fact(1, "dies", "Tobias Brook"), fact(2, "acts", "Tobias"))

    assert rules(*facts, names=("Tobias Brook", "Ada Brook")) == ["dead_acts"]
    assert rules(*facts, names=("Tobias Brook", "Tobias Vane")) == []
    hyphened = (fact(1, "dies", "Hans-Otto Vane"), fact(2, "acts", "Hans-Otto"))
    assert rules(*hyphened, names=("Hans-Otto Vane", "Hans Brook")) == ["dead_acts"]


def test_two_names_are_different_places_if_someone_travels_between_them() -> None:
    at = (fact(1, "at", "the trunk", "Trieste"), fact(3, "at", "the trunk", "Vienna"))
    journey = (fact(1, "leaves", "Ada", "Trieste"), fact(2, "enters", "Ada", "Vienna"))

    assert rules(at[0], *journey, at[1]) == ["two_places"]
    assert rules(*at) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("the ring", "ring"), ("L'anello", "anello"), ("der Ring", "Ring"), ("o anel", "Anel")],
)
def test_an_object_is_the_same_with_or_without_its_article(one: str, other: str) -> None:
    assert rules(fact(1, "gone", one), fact(2, "at", other, "Ada")) == ["gone_object"]
    assert rules(fact(1, "knows", "Ada", "that it burned"), fact(2, "learns", "Ada", "it burned")) == ["known_before"]
    assert rules(fact(1, "gone", f"{one} of Ada"), fact(2, "at", other, "Ada")) == []


def test_a_name_keeps_the_article_that_belongs_to_it() -> None:
    facts = (fact(1, "dies", "La Rosa"), fact(2, "acts", "Rosa"))

    assert rules(*facts, names=("Maria La Rosa", "Rosa Conti")) == []


def test_a_contradiction_repeated_in_a_chapter_is_one_finding() -> None:
    again = [replace(DEAD[1], quote=f"He spoke {times}.") for times in range(5)]

    assert rules(DEAD[0], *again, replace(DEAD[1], chapter_number=4)) == ["dead_acts", "dead_acts"]


def test_names_are_compared_in_any_script() -> None:
    facts = (
        fact(1, "dies", "Şule İnal"),
        fact(2, "acts", "ŞULE İNAL"),
        fact(1, "dies", "李明"),
        fact(3, "acts", "李明。"),
    )

    assert rules(*facts) == ["dead_acts", "dead_acts"]
    assert all(key(key(each.subject)) == key(each.subject) for each in facts)


def test_a_dismissed_contradiction_is_found_again_after_a_change_of_either_passage() -> None:
    (found,) = contradictions(DEAD)
    book, dismissed = a_book(), [fingerprint(found)]

    assert notes_of(book, DEAD, dismissed) == []
    for changed in (0, 1):
        facts = [replace(each, quote="New words.") if at == changed else each for at, each in enumerate(DEAD)]
        assert len(notes_of(book, facts, dismissed)) == 1
