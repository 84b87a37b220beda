"""How many planted contradictions the rules over facts find: a small version of `python -m bench.facts`."""

from __future__ import annotations

import functools

import pytest

from bench.facts import __main__ as bench
from bench.facts import plant, rows
from bench.facts.carriers import Carrier, carriers
from bench.facts.rows import Honest
from bench.facts.templates import KINDS, LISTS, read


@functools.cache
def books() -> tuple[Carrier, ...]:
    return tuple(carriers(tuple(read("known"))))


def test_every_template_has_what_its_kind_needs_in_every_language() -> None:
    languages = [set(read(name)) for name in (*LISTS, "honest")]

    assert len(languages[0]) == rows.MIN_LANGUAGES
    assert languages[0] == languages[1] == languages[2]
    assert all(set(templates) == set(KINDS) for name in LISTS for templates in read(name).values())
    assert {book.language for book in books()} == languages[0]


def test_nine_of_ten_planted_contradictions_are_found_with_both_passages_and_no_false_alarm() -> None:
    count = bench.planted(books(), each=1)

    assert count.of(["known"]).share == 1
    assert count.of(["unseen"]).share >= rows.MIN_RECALL
    assert count.alarms == []


def test_apparent_contradictions_and_unchanged_books_raise_no_alarm() -> None:
    true = bench.honest(books(), each=1)

    assert true.alarms == []
    assert true.words > rows.WORDS_A_FALSE_ALARM
    assert true.look_alikes > 300
    assert true.facts > 300


def test_rules_that_find_nothing_or_accuse_a_correct_book_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plant, "editor_findings", lambda *_: [])

    bars = rows.verdicts(bench.planted(books(), each=1), Honest(words=100_000, alarms=["one", "two"]))

    missed = {each.bar for each in bars if not each.is_kept}
    assert missed == {
        "2,000 contradictions",
        "90 % found, both passages quoted",
        "90 % of the unseen found",
        "at most 1 false alarm in 100,000 words",
    }
