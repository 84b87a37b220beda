"""AI edits: one writes a chapter again. What no run has paid for is edited in small pieces."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.errors import Conflict
from bookgen.store import runs
from bookgen.store.database import DB

MOST_UNPAID_WORDS = 5000  # else drafts, which cost nothing, would be whole books of one long chapter each


async def require_paid(db: DB, quota: Quota, book_id: int, words: int) -> None:
    """Conflict for a chapter of so many words in a book of which no run has written anything, so that none was paid."""
    if quota.billing and words > MOST_UNPAID_WORDS and not await runs.have_written(db, book_id):
        raise Conflict(
            f"A chapter of more than {MOST_UNPAID_WORDS:,} words can be written again once the book's generation has "
            "written some of it. Start it, or give the chapter fewer words."
        )
