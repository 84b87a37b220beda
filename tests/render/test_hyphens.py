"""Words are hyphenated where pyphen, the source of the patterns, hyphenates them."""

from __future__ import annotations

import pyphen
import pytest

from bench.render.corpus import VOCABULARY
from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.patterns import Patterns, patterns

GERMAN = "Donaudampfschifffahrt Silbentrennung Wörterbuch Zuckerbäcker Straßenbahnhaltestelle außergewöhnlich Märchen"
OTHERS = {
    "en-US": " ".join(VOCABULARY),
    "de": GERMAN,
    "fr-FR": "développement l'anticonstitutionnellement particulièrement œuvre",
    "ru": "достопримечательность преподаватель необыкновенный",
    "pl-PL": "najprawdopodobniej wszystkiego październik",
    "uk": "особливості найважливіший",
}


@pytest.mark.parametrize("language", OTHERS)
def test_words_are_hyphenated_where_pyphen_does_it(language: str) -> None:
    ours = patterns(language)
    theirs = pyphen.Pyphen(lang=language, left=1, right=1)

    assert ours is not None
    for word in OTHERS[language].split():
        assert [at for at in ours.positions(word) if 0 < at < len(word)] == theirs.positions(word)


def test_a_break_that_would_change_the_spelling_is_not_used() -> None:
    ours = patterns("hu")
    theirs = pyphen.Pyphen(lang="hu", left=1, right=1)

    assert ours is not None
    assert list(theirs.iterate("asszonnyal")) == [("asszony", "nyal"), ("asz", "szonnyal")]
    assert [at for at in ours.positions("asszonnyal") if at > 1] == []


def test_a_language_without_patterns_is_not_hyphenated() -> None:
    assert patterns("xx") is None
    assert Hyphens("xx")("considerable") == ()


def test_at_least_two_letters_stand_before_a_hyphen_and_three_after_it() -> None:
    hyphens = Hyphens("en")

    for word in VOCABULARY:
        assert all(2 <= at <= len(word) - 3 for at in hyphens(word))
    assert hyphens("“considerable,”") == (4, 7, 9)


def test_the_patterns_of_one_language_are_loaded_once() -> None:
    assert isinstance(patterns("en-GB"), Patterns)
    assert patterns("en-GB") is patterns("en-GB")
