"""Corrections of several sources as one list that can be applied in any order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from bookgen.writing.proofreading.correction import Correction


def merged(
    rules: Iterable[Correction], model: Iterable[Correction], checker: Sequence[tuple[Correction, bool]]
) -> list[Correction]:
    """The merged corrections in text order, without overlaps. A correction from two sources is kept once.

    `checker`: each correction of the checker, and whether its rule has proved reliable. A correction by an unreliable
    rule is kept only if the model proposes the same. Rules take precedence over the model, and the model over the
    checker.
    """
    proposed = list(model)
    confirmed = [each for each, proven in checker if proven or any(_agree(each, other) for other in proposed)]
    kept: list[Correction] = []
    for correction in (*rules, *proposed, *confirmed):
        place = bisect_left(kept, _span(correction), key=_span)
        # Kept corrections are disjoint, so checking the two neighbours suffices.
        if not any(correction.overlaps(beside) for beside in kept[max(0, place - 1) : place + 1]):
            kept.insert(place, correction)
    return kept


def _span(correction: Correction) -> tuple[int, int]:
    return correction.start, correction.end


def _agree(one: Correction, other: Correction) -> bool:
    """Whether both corrections lead to the same text, even if one replaces a longer passage than the other."""
    if not one.overlaps(other):
        return False
    start, end = max(one.start, other.start), min(one.end, other.end)
    inner, outer = (one, other) if one.end - one.start <= other.end - other.start else (other, one)
    before = outer.original[: inner.start - outer.start]
    after = outer.original[inner.end - outer.start :]
    return (start, end) == (inner.start, inner.end) and before + inner.replacement + after == outer.replacement
