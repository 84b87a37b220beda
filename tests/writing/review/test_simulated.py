"""Revisions by the service's own rules, over many simulated books."""

from random import Random

import pytest

from bench.revision import (
    MAX_CALLS,
    VISIBLE,
    calls,
    compared,
    gain_of,
    gains,
    revised_by,
    simulated,
)
from bookgen.writing.review import applying
from bookgen.writing.review.revision import BookRevision


async def test_books_do_not_get_worse_if_half_of_the_findings_are_right() -> None:
    found = await gains(0.5, 120)

    assert found["apply"].mean - found["apply"].error > 0
    assert found["apply"].mean > found["always"].mean


async def test_compared_books_do_not_get_worse_if_few_of_the_findings_are_right() -> None:
    found = await gains(0.2, 120)

    assert found["apply"].is_loss
    for rule in ("compare", "biased"):
        assert found[rule].mean > 0
        assert found[rule].worse < found["apply"].worse / 2


@pytest.mark.parametrize("comparing", [False, True])
def test_a_review_and_its_revision_need_few_calls_compared_with_a_draft(comparing: bool) -> None:
    assert 1 < calls(comparing=comparing) <= MAX_CALLS


@pytest.mark.parametrize("seed", range(5))
async def test_a_book_whose_findings_are_all_declined_stays_unchanged(seed: int) -> None:
    book = simulated(Random(seed), 0.5)

    revised = await applying.apply(book.material, book.findings, BookRevision((), {}))

    assert revised.texts == {}


async def test_the_checks_without_a_model_catch_most_formal_faults() -> None:
    books = [simulated(Random(seed), 1.0) for seed in range(60)]
    clumsy = kept = 0
    for book in books:
        edits = [edit for answer in book.answers if not answer.mends for edit in answer.edits]
        revised = await applying.apply(book.material, book.findings, BookRevision(tuple(edits), {}))
        clumsy += len(edits)
        kept += sum(outcome.is_kept for outcome in revised.outcomes)

    assert clumsy > 100
    assert kept / clumsy < 1 - VISIBLE / 2


async def test_the_simulation_gives_the_same_result_for_the_same_book() -> None:
    book = simulated(Random(1), 0.5)
    revised = await revised_by(book)

    assert gain_of(book, revised) == gain_of(book, await revised_by(book))
    first, second = [await compared(book, revised, Random(2)) for _ in range(2)]
    assert first == second
