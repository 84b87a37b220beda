"""Limits the text that a proofreading check reads, so that one check never costs more than the account's plan."""

from __future__ import annotations

from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED, Book, Plan

TIMES_AS_LONG = 3  # a book may be longer than its target
BYTES_OF_A_WORD = 10  # of a long word, with its space


def most_bytes(plan: Plan, book: Book) -> int | None:
    """How many bytes of the book's text a check reads; None: all.

    A book that a credit paid for may be longer than the plan allows. Then the book's own target sets the limit.
    """
    if plan.features.books_per_month == UNLIMITED:
        return None
    return TIMES_AS_LONG * BYTES_OF_A_WORD * max(plan.features.max_word_count_per_book, book.target_word_count)


def require_readable(plan: Plan, book: Book, size: int, upgrade_url: str) -> None:
    """Raise PlanUpgradeRequired if the text has more bytes than a check reads."""
    most = most_bytes(plan, book)
    if most is not None and size > most:
        raise PlanUpgradeRequired(
            f"A proofreading check of this book reads up to {most:,} bytes of text. Choose fewer chapters.",
            requested=size,
            max_allowed=most,
            upgrade_url=upgrade_url,
        )
