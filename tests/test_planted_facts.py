"""What the rules over facts find of planted contradictions: a small version of `python -m bench.facts`."""

from __future__ import annotations

import functools
import random

import pytest

from bench.facts import __main__ as bench
from bench.facts import judge, plant, rows
from bench.facts.carriers import Carrier, carriers
from bench.facts.rows import Honest
from bench.facts.templates import DETAIL, IN_FULL, KINDS, LISTS, read


@functools.cache
def books() -> tuple[Carrier, ...]:
    return tuple(carriers(tuple(dict.fromkeys(language for name in LISTS for language in read(name)))))


def test_every_template_of_every_language_has_what_its_kind_needs() -> None:
    languages = {name: set(read(name)) for name in (*LISTS, "honest")}

    assert all(len(there) >= rows.MIN_LANGUAGES for there in languages.values())
    assert set.union(*languages.values()) == languages["honest"] == {book.language for book in books()}
    for name in LISTS:
        kinds = set(KINDS) - ({DETAIL} if name in IN_FULL else set())
        assert all(set(templates) == kinds for templates in read(name).values())


def test_nine_of_ten_planted_contradictions_are_found_with_both_passages_and_nothing_else() -> None:
    count = bench.planted(books(), each=1)

    assert count.of(["known"]).share == 1
    assert count.of(["unseen"]).share >= rows.MIN_RECALL
    assert count.of(["second"]).share >= 0.8, "the first time it was measured, 56 %"
    assert count.of(["third"]).share >= rows.MIN_RECALL
    assert count.with_judge().share >= rows.MIN_RECALL
    assert count.alarms == []


def test_an_answer_of_the_judge_counts_only_with_both_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plant, "editor_findings", lambda *_: [])
    (book, *_) = plant.contradictions(books(), each=1)
    found = [book.is_found(each) for each in judge.read(book, random.Random(1))]
    monkeypatch.setattr(judge, "_quoted", lambda span, _: {"chapter": span.chapter, "quote": "nowhere in the book"})

    assert found == [True]
    assert judge.read(book, random.Random(1)) == []


def test_what_looks_like_a_contradiction_and_is_none_is_left_alone_and_so_are_books_as_they_are() -> None:
    true = bench.honest(books(), each=1)

    assert true.alarms == []
    assert true.words > rows.WORDS_A_FALSE_ALARM
    assert true.look_alikes > 300
    assert true.facts > 300


def test_rules_that_find_nothing_or_accuse_a_true_book_miss_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plant, "editor_findings", lambda *_: [])

    bars = rows.verdicts(bench.planted(books(), each=1), Honest(words=100_000, alarms=["one", "two"]))

    missed = {each.bar for each in bars if not each.is_kept}
    assert missed == {
        "2,000 contradictions",
        "90 % found, both passages quoted: rules alone",
        "90 % of the last unseen list found: rules alone",
        "at most 1 false alarm in 100,000 words",
    }
