"""Free outlines, which cost no AI edit: three per book, for a limited number of books per period."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing
from bookgen.models import UNLIMITED
from bookgen.store import usage
from bookgen.store.database import DB

FREE_OF_A_BOOK = 3
MIN_BOOKS = 5  # drafts are free, and some are thrown away


async def is_free(db: DB, standing: Standing, made: int, *, in_flight: int = 0) -> bool:
    """Whether the next outline is free for a book that has had `made`, given the account's outlines in flight."""
    if made >= FREE_OF_A_BOOK:
        return False
    books = standing.plan.features.books_per_month
    if books == UNLIMITED:
        return True
    had = await usage.free_outlines(db, standing.account_id, standing.period.start)
    return had + in_flight < FREE_OF_A_BOOK * max(MIN_BOOKS, books)


async def count_free(connection: DB, quota: Quota, account_id: int) -> None:
    """Count a free outline."""
    period = await quota.period(connection, account_id)
    await usage.count_free_outline(connection, account_id, period.start, period.end)
