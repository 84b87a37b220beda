"""The survey of a book comes back from its process as it was made there, and as nothing but data."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from bench.render import corpus
from bookgen.errors import ProofreadingFailed
from bookgen.writing.proofreading.survey import Survey, UnreadableSurvey, survey, survey_of

BOOK, CHAPTERS = corpus.book(corpus.Corpus("survey", chapters=2, words=600))


async def test_a_survey_comes_back_from_its_process_as_it_was_made() -> None:
    chapters = [replace(CHAPTERS[0], content="He kept the the letter, and was diffrent.")]

    made = await survey(BOOK, chapters)

    assert made == survey_of(BOOK, chapters)
    assert any(made.rules.values())
    assert any(made.checker.values())


@pytest.mark.parametrize(
    "answer",
    [b"", b"{}", b"[]", b'{"rules": {"1": [{}]}, "checker": {}, "names": []}', pickle.dumps(print)],
    ids=["nothing", "an empty object", "a list", "no correction", "a pickle"],
)
def test_what_is_no_survey_is_not_taken_for_one(answer: bytes) -> None:
    with pytest.raises(UnreadableSurvey):
        Survey.read(answer)


@pytest.mark.timeout(60)  # a rule whose time grows with the square of a word takes minutes
@pytest.mark.parametrize("unit", ["[", '"“', "a,", "1234567890", "a", "](", "][", "[^", "a@", "<", "* ", "`a"])
def test_no_text_that_never_ends_makes_a_rule_last(unit: str) -> None:
    chapters = [replace(CHAPTERS[0], content=unit * (100_000 // len(unit)))]

    assert isinstance(survey_of(replace(BOOK, content_language="de"), chapters), Survey)


@pytest.mark.parametrize("bound", [{"seconds": 0.05}, {"memory": 64 * 2**20}], ids=["time", "memory"])
async def test_a_survey_takes_no_more_than_it_may(bound: dict[str, Any]) -> None:
    with pytest.raises(ProofreadingFailed):
        await survey(BOOK, CHAPTERS, **bound)
