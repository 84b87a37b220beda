"""A review and a revision, from the book to the new texts, with recorded answers as the model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bookgen.providers.text import PromptTooLong, StopReason
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.review import applying
from bookgen.writing.review.calls import read_book, revise_book
from bookgen.writing.review.findings import BookReview
from bookgen.writing.review.revision import BookRevision
from bookgen.writing.structured import UnusableReply
from tests.writing.review.recorded import answer, reviewed, written_book
from tests.writing.scripted import Scripted, says

CALLS = {"review": "reading", "revision": "revision"}


def recorded(name: str) -> Scripted:
    return Scripted(lambda request, brief, call: json.dumps(answer(name, CALLS[request.stage])))


@pytest.mark.parametrize(
    ("name", "kept"), [("wrong-note", 26), ("name-day", 10), ("first-loaf", 9), ("die-chronik-von-walsheim", 3)]
)
async def test_a_book_is_read_and_revised_in_two_calls(name, kept):
    material, steps = written_book(name), recorded(name)

    review = await read_book(material, steps)
    revised = await applying.apply(material, review.findings, await revise_book(material, review, steps))

    assert len(steps.calls) == 2
    assert sum(outcome.is_kept for outcome in revised.outcomes) == kept


async def test_a_book_without_findings_is_not_revised():
    steps = Scripted(lambda request, brief, call: '{"findings": []}')

    review = await read_book(written_book("name-day"), steps)
    revision = await revise_book(written_book("name-day"), review, steps)

    assert (review, revision) == (BookReview((), {}), BookRevision((), {}))
    assert len(steps.calls) == 1


async def test_with_a_small_context_window_the_book_is_read_in_parts_with_the_same_findings():
    def answers(request, brief, call):
        if sum(map(len, request.texts)) > 36_000:
            raise PromptTooLong("too long", 12_000, stage=request.stage, chapter_number=None)
        return json.dumps(answer("wrong-note", CALLS[request.stage]))

    steps = Scripted(answers)
    _, whole = reviewed("wrong-note")

    review = await read_book(written_book("wrong-note"), steps)

    assert len(steps.stored) > 1
    assert review.findings == whole.findings
    assert set(review.dropped) == {"duplicate"}


async def test_the_complete_findings_of_a_cut_reply_are_used():
    text = json.dumps(answer("name-day", "reading"))
    steps = Scripted(lambda request, brief, call: says(text[: len(text) // 2], StopReason.LENGTH))

    review = await read_book(written_book("name-day"), steps)

    assert 0 < len(review.findings) < 9
    assert len(steps.calls) == 1


async def test_a_part_that_cannot_be_read_does_not_affect_the_others():
    def answers(request, brief, call):
        if call == 1:
            return says("", StopReason.REFUSAL)
        return json.dumps(answer("wrong-note", CALLS[request.stage]))

    review = await read_book(written_book("wrong-note"), Scripted(answers), 12_000)

    assert len(review.findings) == 20


@pytest.mark.parametrize(
    ("reply", "error"), [(says("", StopReason.REFUSAL), ModelRefused), (says("I like it."), UnusableReply)]
)
async def test_a_reading_without_any_result_is_an_error(reply, error):
    with pytest.raises(error):
        await read_book(written_book("wrong-note"), Scripted(lambda request, brief, call: reply))


async def test_a_reading_repeats_the_same_request_after_a_restart():
    material = written_book("wrong-note")
    steps = recorded("wrong-note")
    await read_book(material, steps)

    bible = dict(reversed(material.book.bible.items()))
    await read_book(replace(material, book=replace(material.book, bible=bible)), steps)

    assert len(steps.calls) == 1
