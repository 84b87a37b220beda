"""The storage that an account uses, in bytes: its books' texts, the revisions of these texts, and its pictures."""

from __future__ import annotations

from typing import Any

from bookgen.models import Book, Chapter
from bookgen.store.database import DB
from bookgen.store.revisions import Revision
from bookgen.store.rows import text_names

ROW = 1000  # bytes that a book or a chapter counts besides its texts
# The tables whose texts count, each with the dataclass that says which columns are texts.
COUNTED: dict[str, type[Any]] = {"book": Book, "chapter": Chapter, "chapter_revision": Revision}


def _texts(table: str, alias: str) -> str:
    """SQL for the size of a row's texts in bytes. PostgreSQL gets a long value's size without reading the value."""
    return " + ".join(f"coalesce(octet_length({alias}.{name}), 0)" for name in text_names(COUNTED[table]))


BYTES_OF_BOOKS = f"""
    SELECT coalesce(sum({_texts("book", "b")} + octet_length(b.authored_bible::text)
                           + octet_length(b.export_settings::text) + {ROW} + of_chapters.bytes),
                    0)::bigint
      FROM book b
     CROSS JOIN LATERAL (
           SELECT coalesce(sum({_texts("chapter", "c")} + octet_length(c.plan::text) + {ROW}), 0) AS bytes
             FROM chapter c WHERE c.book_id = b.id) of_chapters
     WHERE b.account_id = $1 AND ($2::bigint IS NULL OR b.id = $2)
"""

BYTES_OF_PICTURES = """
    SELECT coalesce(sum(coalesce(octet_length(m.body), f.size)), 0)::bigint
      FROM book b
      JOIN media m ON m.book_id = b.id
      LEFT JOIN stored_file f ON f.id = m.file_id
     WHERE b.account_id = $1 AND ($2::bigint IS NULL OR b.id = $2)
"""

BYTES_STORED = f"""
    SELECT ({BYTES_OF_BOOKS})
         + (SELECT coalesce(sum({_texts("chapter_revision", "r")}), 0)
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
