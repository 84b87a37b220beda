"""Free outlines, which cost no AI edit: up to three per book, and a limited number per period."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing
from bookgen.models import UNLIMITED
from bookgen.store import usage
from bookgen.store.database import DB

FREE_OF_A_BOOK = 3
MIN_BOOKS = 5  # outlines are free for at least so many books a period, since some drafts are thrown away


async def is_free(db: DB, standing: Standing, made: int, *, in_flight: int = 0) -> bool:
    """Whether the next outline of a book is free.

    `made`: how many outlines the book has had. `in_flight`: how many outlines are in progress for the account.
    """
    return made < FREE_OF_A_BOOK and await _left(db, standing, in_flight) > 0


async def beyond_free(db: DB, standing: Standing, in_flight: int) -> int:
    """How many of the outlines in progress will cost an AI edit, because the period has too few free outlines left.

    `in_flight`: how many outlines are in progress for books that have had fewer than FREE_OF_A_BOOK outlines.
    """
    return max(0, -await _left(db, standing, in_flight))


async def _left(db: DB, standing: Standing, in_flight: int) -> int:
    """How many free outlines the period has left, not counting `in_flight` outlines; negative if there are too few."""
    books = standing.plan.features.books_per_month
    if books == UNLIMITED:
        return FREE_OF_A_BOOK
    had = await usage.free_outlines(db, standing.account_id, standing.period.start)
    return FREE_OF_A_BOOK * max(MIN_BOOKS, books) - had - in_flight


async def count_free(connection: DB, quota: Quota, account_id: int) -> None:
    """Count a free outline in the current period."""
    period = await quota.period(connection, account_id)
    await usage.count_free_outline(connection, account_id, period.start, period.end)
