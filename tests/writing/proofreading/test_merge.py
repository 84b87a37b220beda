"""Corrections of rules, model and checker as one list: what two say is said once, what only one believes is not."""

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


def test_what_only_the_checker_s_dictionary_says_is_not_said() -> None:
    assert merged((), (), [(CHECKED, False)]) == []


def test_what_the_model_says_too_is_one_correction() -> None:
    model = correction("not beleive", "not believe", "model")

    assert merged((), [model], [(CHECKED, False)]) == [model]


def test_a_rule_comes_before_what_the_model_says_of_the_same_words() -> None:
    rule = correction("the the", "the", "doubled_word")
    model = correction("the the news", "this news", "model")

    assert merged([rule], [model], ()) == [rule]


def test_edits_that_overlap_leave_the_first() -> None:
    first, second = correction("could not", "couldn't", "model"), correction("not beleive", "not believe", "model")

    assert merged((), [first, second], ()) == [first]
