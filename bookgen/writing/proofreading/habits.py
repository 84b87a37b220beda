"""Finds the few places that differ from what a book does almost everywhere."""

from __future__ import annotations

from collections import Counter

ENOUGH = 20  # times, to count as a habit
FEW = 0.05  # of the usual variant's occurrences; a variant with a larger share is a habit too


def slips(times: Counter[str], usual: str, *, enough: int = ENOUGH, few: float = FEW) -> set[str]:
    """The variants that are so rare beside the `usual` variant that they must be slips.

    `times`: how often each variant occurs. A variant is rare if it occurs once, or if its count is at most the share
    `few` of the usual variant's count. Empty if the usual variant occurs fewer than `enough` times.
    """
    if times[usual] < enough:
        return set()
    return {way for way, often in times.items() if way != usual and 0 < often <= max(1.0, few * times[usual])}
