"""A cache of exported files, keyed by the digest of their source, and a count of downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.store.database import DB

KEPT_PER_BOOK = 8
KEPT_PER_ACCOUNT = 256_000_000  # bytes; the newest file is kept whatever its size

FIND = "SELECT body FROM export_file WHERE book_id = $1 AND digest = $2"


async def find(db: DB, book_id: int, digest: str) -> bytes | None:
    """The cached file, or None. The caller has checked the book's owner."""
    body: bytes | None = await db.fetchval(FIND, book_id, digest)
    return body


# The book may be gone by the time its file is ready.
KEEP = """
    INSERT INTO export_file (book_id, digest, kind, body)
    SELECT id, $2, $3, $4 FROM book WHERE id = $1
    ON CONFLICT (book_id, digest) DO NOTHING
"""

# octet_length reads only the header of a stored value, so no file is loaded.
FORGET_OLD = """
    DELETE FROM export_file e
     USING (SELECT f.book_id, f.digest,
                   row_number() OVER (PARTITION BY f.book_id ORDER BY f.created_at DESC, f.digest) AS place,
                   row_number() OVER (ORDER BY f.created_at DESC, f.digest) AS place_of_all,
                   sum(octet_length(f.body)) OVER (ORDER BY f.created_at DESC, f.digest) AS bytes
              FROM export_file f JOIN book b ON b.id = f.book_id
             WHERE b.account_id = (SELECT account_id FROM book WHERE id = $1)) AS kept
     WHERE e.book_id = kept.book_id AND e.digest = kept.digest
       AND (kept.place > $2 OR (kept.place_of_all > 1 AND kept.bytes > $3))
"""


async def keep(db: DB, book_id: int, digest: str, kind: str, body: bytes) -> None:
    """Cache the file, and delete the oldest files beyond the limits per book and per account."""
    await db.execute(KEEP, book_id, digest, kind, body)
    await db.execute(FORGET_OLD, book_id, KEPT_PER_BOOK, KEPT_PER_ACCOUNT)


COUNT = """
    INSERT INTO export_count AS e (account_id, kind, exports) VALUES ($1, $2, 1)
    ON CONFLICT (account_id, kind) DO UPDATE SET exports = e.exports + 1
"""


async def count(db: DB, account_id: int, kind: str) -> None:
    await db.execute(COUNT, account_id, kind)


TOTAL = "SELECT coalesce(sum(exports), 0)::bigint FROM export_count WHERE account_id = $1"


async def total(db: DB, account_id: int) -> int:
    """How many files the account has exported in total."""
    exports: int = await db.fetchval(TOTAL, account_id)
    return exports
