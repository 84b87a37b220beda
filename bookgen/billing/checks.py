"""Proofreading checks: each reads a bounded text, or one alone would cost more than its plan."""

from __future__ import annotations

from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED, Plan

LONGEST_BOOKS = 3  # of the plan: a book may be longer than it was meant to be
BYTES_OF_A_WORD = 10  # a long one, with its space


def most_bytes(plan: Plan) -> int | None:
    """How many bytes of text a check reads; None: as many as there are."""
    if plan.features.books_per_month == UNLIMITED:
        return None
    return LONGEST_BOOKS * BYTES_OF_A_WORD * plan.features.max_word_count_per_book


def require_readable(plan: Plan, size: int, upgrade_url: str) -> None:
    """PlanUpgradeRequired for a text of more bytes than a check reads."""
    most = most_bytes(plan)
    if most is not None and size > most:
        raise PlanUpgradeRequired(
            f"A proofreading check of your plan reads up to {most:,} bytes of text. Choose fewer chapters.",
            requested=size,
            max_allowed=most,
            upgrade_url=upgrade_url,
        )
