"""The survey of a book is transferred from its process unchanged, as data."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bench.render import corpus
from bookgen.errors import ProofreadingFailed
from bookgen.models import Chapter
from bookgen.writing.proofreading.survey import Survey, UnreadableSurvey, survey, survey_of

BOOK, CHAPTERS = corpus.book(corpus.Corpus("survey", chapters=2, words=600))


async def told(*chapters: Chapter) -> AsyncIterator[Chapter]:
    for chapter in chapters:
        yield chapter


async def test_a_survey_is_transferred_from_its_process_unchanged() -> None:
    chapter = replace(CHAPTERS[0], content="He kept the the letter, and was diffrent.")

    made = await survey(BOOK, told(chapter, CHAPTERS[1]))

    assert made == survey_of(BOOK, [chapter, CHAPTERS[1]])
    assert any(made.rules.values())
    assert any(made.checker.values())


def test_a_process_that_is_asked_nothing_exits_silently() -> None:
    """Because the service has ended, or has dropped the work, before it asked."""
    worker = subprocess.run(
        [sys.executable, "-m", "bookgen.writing.proofreading.survey", "0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )

    assert (worker.returncode, worker.stdout, worker.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "answer",
    [b"", b"{}", b"[]", b'{"rules": {"1": [{}]}, "checker": {}, "names": [], "versions": {}}', pickle.dumps(print)],
    ids=["nothing", "an empty object", "a list", "no correction", "a pickle"],
)
def test_an_invalid_answer_is_not_accepted_as_a_survey(answer: bytes) -> None:
    with pytest.raises(UnreadableSurvey):
        Survey.read(answer)


@pytest.mark.timeout(60)  # a rule with quadratic time in the length of a word takes minutes
@pytest.mark.parametrize("unit", ["[", '"“', "a,", "1234567890", "a", "](", "][", "[^", "a@", "<", "* ", "`a"])
def test_endless_text_does_not_slow_down_a_rule(unit: str) -> None:
    chapters = [replace(CHAPTERS[0], content=unit * (100_000 // len(unit)))]

    assert isinstance(survey_of(replace(BOOK, content_language="de"), chapters), Survey)


@pytest.mark.parametrize("bound", [{"seconds": 0.05}, {"memory": 64 * 2**20}], ids=["time", "memory"])
async def test_a_survey_stays_within_its_limits(bound: dict[str, Any]) -> None:
    chapter = replace(CHAPTERS[0], content="The lamp went out. " * 2_000_000)  # 38 MB

    with pytest.raises(ProofreadingFailed):
        await survey(BOOK, told(chapter), **bound)


def test_findings_in_an_older_text_are_found_in_the_new_one_or_dropped() -> None:
    last = "The rain had stopped an hour before.\n\nShe laughed , and left the room. It was diffrent there."
    before = replace(CHAPTERS[0], content=f"He kept the the letter. {last}")
    after = replace(before, content=f"A beginning.\n\nHe kept it. {last}", content_version=before.content_version + 1)
    seen = survey_of(BOOK, [before])

    rules, checker = seen.of(after)

    assert [each.original for each in seen.of(before)[0]] == ["the the", "laughed ,"]
    assert [(after.content[each.start : each.end], each.replacement) for each in rules] == [("laughed ,", "laughed,")]
    assert [after.content[each.start : each.end] for each, _ in checker] == ["diffrent"]
