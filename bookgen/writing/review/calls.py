"""The calls of a reading and of a revision: each part of the book is asked about in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import TextRequest
from bookgen.threads import compute
from bookgen.writing import structured
from bookgen.writing.material import Material
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.review.findings import BookReview, review_of
from bookgen.writing.review.reading import FindingClaim, read_claims, reading_requests
from bookgen.writing.review.revision import BookRevision, joined, read_revision, revision_requests
from bookgen.writing.steps import Steps
from bookgen.writing.structured import UnusableReply
from bookgen.writing.window import WINDOW, fitted

T = TypeVar("T")


async def read_book(material: Material, steps: Steps, window: int = WINDOW) -> BookReview:
    """What an editor finds in the written chapters. `window`: the tokens that a call may have.

    Raises UpstreamAIError, and ModelRefused or UnusableReply if no part of the book could be read.
    """

    async def read(window: int) -> list[list[FindingClaim]]:
        return await _answers(await compute(reading_requests, material, window), steps, read_claims)

    claims = [claim for part in await fitted(read, window) for claim in part]
    return await compute(review_of, claims, material)


async def revise_book(material: Material, review: BookReview, steps: Steps, window: int = WINDOW) -> BookRevision:
    """The author's answer to the findings, for `bounds.apply`. Errors as in `read_book`."""

    async def revise(window: int) -> list[BookRevision]:
        return await _answers(await compute(revision_requests, material, review, window), steps, read_revision)

    return joined(await fitted(revise, window))


async def _answers(requests: Sequence[TextRequest], steps: Steps, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """What the model answers to those requests that it answers; the error of the first one if it answers none."""
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
