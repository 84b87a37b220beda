"""Corrections of rules, model and checker merged into one list, without duplicates or unconfirmed guesses."""

from __future__ import annotations

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.merge import merged

CONTENT = "He could not beleive the the news."


def correction(quote: str, replacement: str, source: str) -> Correction:
    start = CONTENT.index(quote)
    reason = Reason(SuggestionType.SPELLING, Severity.MAJOR, "", source)
    return Correction.at(CONTENT, start, start + len(quote), replacement, reason)


CHECKED = correction("beleive", "believe", "harper")


def test_a_correction_from_the_spell_checker_alone_is_not_reported() -> None:
    assert merged((), (), [(CHECKED, False)]) == []


def test_a_correction_made_by_both_model_and_checker_is_one() -> None:
    model = correction("not beleive", "not believe", "model")

    assert merged((), [model], [(CHECKED, False)]) == [model]


def test_a_rule_takes_precedence_over_the_model_on_the_same_words() -> None:
    rule = correction("the the", "the", "doubled_word")
    model = correction("the the news", "this news", "model")

    assert merged([rule], [model], ()) == [rule]


def test_of_overlapping_edits_the_first_is_kept() -> None:
    first, second = correction("could not", "couldn't", "model"), correction("not beleive", "not believe", "model")

    assert merged((), [first, second], ()) == [first]
