"""AI edits: one writes a chapter again. What no run has paid for is edited in small pieces."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.errors import Conflict
from bookgen.store import chapters, holds
from bookgen.store.database import DB

MOST_UNPAID_WORDS = 5000  # else drafts, which cost nothing, would be whole books of one long chapter each


async def require_paid_chapter(db: DB, quota: Quota, book_id: int, chapter_id: int) -> None:
    """Conflict for a long chapter of a book that no allowance and no credit was ever set aside for."""
    if not quota.billing or await chapters.budget(db, chapter_id) <= MOST_UNPAID_WORDS:
        return
    if not await holds.was_paid(db, book_id):
        raise Conflict(
            f"A chapter of more than {MOST_UNPAID_WORDS:,} words can be written again once the book's generation was "
            "started. Start it, or give the chapter a smaller target_word_count."
        )
