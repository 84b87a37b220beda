"""Finds the few places that differ from what a book does almost everywhere."""

from __future__ import annotations

from collections import Counter

ENOUGH = 20  # times, to count as a habit
FEW = 0.05  # of that; a larger share is a habit too


def slips(times: Counter[str], usual: str, *, enough: int = ENOUGH, few: float = FEW) -> set[str]:
    """The variants that are so rare compared with the usual one that they must be slips."""
    if times[usual] < enough:
        return set()
    return {way for way, often in times.items() if way != usual and 0 < often <= max(1.0, few * times[usual])}
