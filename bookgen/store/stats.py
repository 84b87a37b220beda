"""Totals over an account's books."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class AccountStats:
    books_by_status: dict[str, int] = field(default_factory=dict)
    chapters_total: int = 0
    chapters_written: int = 0
    words_total: int = 0
    images_total: int = 0


BOOKS_BY_STATUS = "SELECT status, count(*) AS books FROM book WHERE account_id = $1 GROUP BY status"

CHAPTERS = """
    SELECT count(*) AS chapters_total,
           count(*) FILTER (WHERE c.content <> '') AS chapters_written,
           coalesce(sum(c.word_count), 0)::bigint AS words_total
      FROM book b
      JOIN chapter c ON c.book_id = b.id
     WHERE b.account_id = $1
"""

IMAGES = "SELECT coalesce(sum(images), 0)::bigint FROM model_call WHERE account_id = $1"


async def of_account(db: DB, account_id: int) -> AccountStats:
    by_status = {row["status"]: row["books"] for row in await db.fetch(BOOKS_BY_STATUS, account_id)}
    chapters = await db.fetchrow(CHAPTERS, account_id)
    images = await db.fetchval(IMAGES, account_id)
    return AccountStats(books_by_status=by_status, images_total=images, **chapters)
