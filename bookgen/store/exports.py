"""Finished exports, kept by the digest of what they were made from, and how many were given out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.store.database import DB

KEPT_PER_BOOK = 8

FIND = "SELECT body FROM export_file WHERE book_id = $1 AND digest = $2"


async def find(db: DB, book_id: int, digest: str) -> bytes | None:
    """The caller has found the book as its owner."""
    body: bytes | None = await db.fetchval(FIND, book_id, digest)
    return body


# The book may be gone by the time its file is ready.
KEEP = """
    INSERT INTO export_file (book_id, digest, kind, body)
    SELECT id, $2, $3, $4 FROM book WHERE id = $1
    ON CONFLICT (book_id, digest) DO NOTHING
"""

FORGET_OLD = """
    DELETE FROM export_file
     WHERE book_id = $1
       AND digest NOT IN (SELECT digest FROM export_file WHERE book_id = $1 ORDER BY created_at DESC, digest LIMIT $2)
"""


async def keep(db: DB, book_id: int, digest: str, kind: str, body: bytes) -> None:
    """Keeps the file and lets the book's oldest go."""
    await db.execute(KEEP, book_id, digest, kind, body)
    await db.execute(FORGET_OLD, book_id, KEPT_PER_BOOK)


COUNT = """
    INSERT INTO export_count AS e (account_id, kind, exports) VALUES ($1, $2, 1)
    ON CONFLICT (account_id, kind) DO UPDATE SET exports = e.exports + 1
"""


async def count(db: DB, account_id: int, kind: str) -> None:
    await db.execute(COUNT, account_id, kind)


TOTAL = "SELECT coalesce(sum(exports), 0)::bigint FROM export_count WHERE account_id = $1"


async def total(db: DB, account_id: int) -> int:
    """How many files the account has been given, ever."""
    exports: int = await db.fetchval(TOTAL, account_id)
    return exports
