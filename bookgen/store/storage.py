"""The storage an account uses, in bytes: its books' texts, their revisions, and its pictures."""

from __future__ import annotations

from bookgen.store.database import DB

ROW = 1000  # bytes charged for the other columns of a book or a chapter

# octet_length reads only the header of a long value, so no text and no picture is loaded.
BYTES_OF_BOOKS = f"""
    SELECT coalesce(sum(octet_length(b.title) + octet_length(b.subtitle) + octet_length(b.description)
                        + octet_length(b.style_notes) + octet_length(b.blurb)
                        + octet_length(b.authored_bible::text) + {ROW} + c.bytes), 0)::bigint
      FROM book b
     CROSS JOIN LATERAL (
           SELECT coalesce(sum(octet_length(title) + octet_length(summary) + octet_length(content) + {ROW}), 0) AS bytes
             FROM chapter WHERE book_id = b.id) c
     WHERE b.account_id = $1 AND ($2::bigint IS NULL OR b.id = $2)
"""

BYTES_OF_PICTURES = """
    SELECT coalesce(sum(octet_length(m.body)), 0)::bigint
      FROM book b JOIN media m ON m.book_id = b.id
     WHERE b.account_id = $1 AND ($2::bigint IS NULL OR b.id = $2)
"""

BYTES_STORED = f"""
    SELECT ({BYTES_OF_BOOKS})
         + (SELECT coalesce(sum(octet_length(r.content)), 0)
              FROM book b JOIN chapter c ON c.book_id = b.id JOIN chapter_revision r ON r.chapter_id = c.id
             WHERE b.account_id = $1)
         + ({BYTES_OF_PICTURES})
"""


async def stored(db: DB, account_id: int) -> int:
    """The total storage of the account, in bytes."""
    return int(await db.fetchval(BYTES_STORED, account_id, None))


BYTES_COPIED = f"SELECT ({BYTES_OF_BOOKS}) + ({BYTES_OF_PICTURES})"


async def of_book(db: DB, account_id: int, book_id: int) -> int:
    """The bytes that a copy of the book would add. 0 if the book is not the account's."""
    return int(await db.fetchval(BYTES_COPIED, account_id, book_id))


# An advisory lock, because the account's row is locked first by every change of the account, and this lock comes last.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('what an account keeps', $1))"


async def lock(connection: DB, account_id: int) -> None:
    """Lock the account's storage until the transaction ends. Everything that makes it grow takes this lock.

    Take it after all other locks, so that its holder never waits for another lock.
    """
    await connection.execute(LOCK, account_id)
