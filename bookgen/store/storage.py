"""What an account keeps here, in bytes: the texts of its books, the former ones too, and its pictures."""

from __future__ import annotations

from bookgen.store.database import DB

ROW = 1000  # bytes of a book or a chapter besides its texts: what else is known of it

# The length of a long value is read from its header: no text and no picture is touched.
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
    """Everything that the account keeps."""
    return int(await db.fetchval(BYTES_STORED, account_id, None))


BYTES_COPIED = f"SELECT ({BYTES_OF_BOOKS}) + ({BYTES_OF_PICTURES})"


async def of_book(db: DB, account_id: int, book_id: int) -> int:
    """What a copy of the book would add; nothing where it is not the account's."""
    return int(await db.fetchval(BYTES_COPIED, account_id, book_id))


# An advisory lock: whoever changes an account locks its row first, and this comes last.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('what an account keeps', $1))"


async def lock(connection: DB, account_id: int) -> None:
    """Puts everything by which an account's texts and pictures grow in one order, until the transaction ends.

    It comes after every other lock, so that nobody who holds it waits for another one.
    """
    await connection.execute(LOCK, account_id)
