"""Calls the model for the reading, the revision and the comparison of a book, one part of the book after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import PromptTooLong, TextRequest
from bookgen.threads import compute
from bookgen.writing import structured
from bookgen.writing.material import Material
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.review.applying import RevisedBook
from bookgen.writing.review.changes import ComparedPart, changes_of, compared_parts
from bookgen.writing.review.comparison import (
    ChangeResult,
    Judgement,
    Preference,
    comparison_request,
    comparison_result,
    max_changes,
    read_judgements,
)
from bookgen.writing.review.findings import BookReview, review_of
from bookgen.writing.review.reading import FindingClaim, read_claims, reading_requests
from bookgen.writing.review.revision import BookRevision, joined, read_revision, revision_requests
from bookgen.writing.steps import Steps
from bookgen.writing.structured import UnusableReply
from bookgen.writing.window import WINDOW, fitted

T = TypeVar("T")


async def read_book(material: Material, steps: Steps, window: int = WINDOW) -> BookReview:
    """Have an editor read the written chapters; return the checked findings. `window`: the tokens of a call.

    Raises UpstreamAIError, and ModelRefused or UnusableReply if no part of the book could be read.
    """

    async def read(window: int) -> list[list[FindingClaim]]:
        return await _answers(await compute(reading_requests, material, window), steps, read_claims)

    claims = [claim for part in await fitted(read, window) for claim in part]
    return await compute(review_of, claims, material)


async def revise_book(material: Material, review: BookReview, steps: Steps, window: int = WINDOW) -> BookRevision:
    """Have the model, as the author, answer the findings with edits. `bounds.apply` applies the edits.

    Raises UpstreamAIError, and ModelRefused or UnusableReply if no part of the book could be revised.
    """

    async def revise(window: int) -> list[BookRevision]:
        return await _answers(await compute(revision_requests, material, review, window), steps, read_revision)

    return joined(await fitted(revise, window))


async def compare_book(
    material: Material, review: BookReview, revised: RevisedBook, steps: Steps, window: int = WINDOW
) -> Mapping[int, ChangeResult]:
    """Have the model compare each change with the draft, blind and in both orders.

    Returns the results by finding number. A change for which the model gives no usable answer is NOT_COMPARED. Raises
    UpstreamAIError.
    """
    changes = await compute(changes_of, material, review.findings, revised)

    async def compare(window: int) -> dict[int, ChangeResult]:
        most = max_changes(material.book, window)
        parts = await compute(compared_parts, material, changes, most, window)
        found: dict[int, ChangeResult] = {}
        for part in parts:
            found |= await _compare_part(material, part, steps, window)
        return found

    try:
        return await fitted(compare, window)
    except PromptTooLong:
        return {change.finding: comparison_result(None, None) for change in changes}


async def _compare_part(material: Material, part: ComparedPart, steps: Steps, window: int) -> dict[int, ChangeResult]:
    """The results for the changes of a part.

    The second call, in the other order, is only made if the first one prefers at least one change to the draft.
    """
    first = await _judged(material, part, steps, window, swapped=False)
    is_open = any(each.preference is Preference.REVISED for each in first.values())
    second = await _judged(material, part, steps, window, swapped=True) if is_open else {}
    numbers = [change.finding for change in part.changes]
    return {number: comparison_result(first.get(number), second.get(number)) for number in numbers}


async def _judged(
    material: Material, part: ComparedPart, steps: Steps, window: int, *, swapped: bool
) -> Mapping[int, Judgement]:
    """The model's judgements by finding number; empty if the model refuses or its reply cannot be used."""

    def read(reply: Mapping[str, Any]) -> dict[int, Judgement]:
        return read_judgements(reply, part, swapped=swapped)

    try:
        request = await compute(partial(comparison_request, material, part, swapped=swapped, window=window))
        return await structured.ask(request, steps, read, rescue=read)
    except (ModelRefused, UnusableReply):
        return {}


async def _answers(requests: Sequence[TextRequest], steps: Steps, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """Send the requests, and return the result of `read` for each usable reply.

    A request is skipped if the model refuses it or no reply to it is usable. If all requests are skipped, the first
    error is raised.
    """
    answers: list[T] = []
    failed: list[UpstreamAIError] = []
    for request in requests:
        try:
            answers.append(await structured.ask(request, steps, read, rescue=read))
        except (ModelRefused, UnusableReply) as error:
            failed.append(error)
    if failed and not answers:
        raise failed[0]
    return answers
