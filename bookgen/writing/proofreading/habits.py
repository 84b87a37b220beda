"""Finds the few places that differ from what a book does almost everywhere."""

from __future__ import annotations

from collections import Counter

MIN_COUNT = 20  # times; a usual variant that occurs less often is not a habit
MAX_SHARE = 0.05  # of the usual variant's count; a variant with a larger share is a habit too


def slips(counts: Counter[str], usual: str, *, min_count: int = MIN_COUNT, max_share: float = MAX_SHARE) -> set[str]:
    """The variants that are so rare beside the `usual` variant that they must be slips.

    `counts`: how often each variant occurs. A variant is rare if it occurs once, or if its count is at most the share
    `max_share` of the usual variant's count. Empty if the usual variant occurs fewer than `min_count` times.
    """
    if counts[usual] < min_count:
        return set()
    most = max(1.0, max_share * counts[usual])
    return {variant for variant, count in counts.items() if variant != usual and 0 < count <= most}
