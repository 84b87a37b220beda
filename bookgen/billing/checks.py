"""Limits how much text one proofreading check may read, which limits the cost of the check.

A check may read up to three times the words of the plan's longest book, because books may exceed their target.
"""

from __future__ import annotations

from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED, Book, Plan

TIMES_AS_LONG = 3  # a book may be longer than its target
BYTES_OF_A_WORD = 10  # of a long word, with its space


def max_check_bytes(plan: Plan, book: Book) -> int | None:
    """How many bytes of the book's text one check may read. None: no limit.

    The limit depends on the plan's longest book, or on the book's own target if that is longer. A book that a credit
    has paid for may be longer than the plan allows.
    """
    if plan.features.books_per_month == UNLIMITED:
        return None
    return TIMES_AS_LONG * BYTES_OF_A_WORD * max(plan.features.max_word_count_per_book, book.target_word_count)


def require_readable(plan: Plan, book: Book, size: int, upgrade_url: str) -> None:
    """Raise PlanUpgradeRequired if the text (`size` bytes) is longer than one check may read."""
    most = max_check_bytes(plan, book)
    if most is not None and size > most:
        raise PlanUpgradeRequired(
            f"A proofreading check of this book reads up to {most:,} bytes of text. Choose fewer chapters.",
            requested=size,
            max_allowed=most,
            upgrade_url=upgrade_url,
        )
