"""AI edits: one writes a chapter again. What no run has paid for is edited in small pieces."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.errors import Conflict
from bookgen.store import chapters, runs
from bookgen.store.database import DB

MOST_UNPAID_WORDS = 5000  # else drafts, which cost nothing, would be whole books of one long chapter each


async def require_paid_chapter(db: DB, quota: Quota, book_id: int, chapter_id: int) -> None:
    """Conflict for a long chapter of a book of which no run has written anything, and so nothing was paid for."""
    if not quota.billing or await chapters.budget(db, chapter_id) <= MOST_UNPAID_WORDS:
        return
    if not await runs.have_written(db, book_id):
        raise Conflict(
            f"A chapter of more than {MOST_UNPAID_WORDS:,} words can be written again once the book's generation has "
            "written some of it. Start it, or give the chapter a smaller target_word_count."
        )
