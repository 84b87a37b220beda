"""Books. Another account's book is not forbidden here, it is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bookgen.models import Book, BookStatus, FundingSource

if TYPE_CHECKING:
    from asyncpg import Record

    from bookgen.store.database import DB

COLUMNS = """
    b.id, b.account_id, b.title, b.subtitle, b.author_name, b.genre, b.target_audience, b.description, b.style_notes,
    b.chapter_count, b.target_word_count, b.trim_size, b.content_language, b.status, b.bible, b.funding_source,
    b.created_at, b.updated_at
"""


@dataclass(frozen=True, slots=True)
class ListedBook:
    """A book with the sums of its chapters."""

    book: Book
    chapters_count: int
    word_count: int


CREATE = f"""
    INSERT INTO book AS b (account_id, title, subtitle, author_name, genre, target_audience, description, style_notes,
                           chapter_count, target_word_count, trim_size, content_language)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    RETURNING {COLUMNS}
"""


async def create(db: DB, account_id: int, new: Mapping[str, Any]) -> Book:
    return book_of(
        await db.fetchrow(
            CREATE,
            account_id,
            new["title"],
            new["subtitle"],
            new["author_name"],
            new["genre"],
            new["target_audience"],
            new["description"],
            new["style_notes"],
            new["chapter_count"],
            new["target_word_count"],
            new["trim_size"],
            new["content_language"],
        )
    )


FIND = f"SELECT {COLUMNS} FROM book b WHERE b.id = $2 AND b.account_id = $1"


async def find(db: DB, account_id: int, book_id: int) -> Book | None:
    row = await db.fetchrow(FIND, account_id, book_id)
    return book_of(row) if row else None


LOCK = f"SELECT {COLUMNS} FROM book b WHERE b.id = $2 AND b.account_id = $1 FOR NO KEY UPDATE"


async def lock(db: DB, account_id: int, book_id: int) -> Book | None:
    """The book, kept from other writers until the transaction ends. Its chapters, if any, are locked before it."""
    row = await db.fetchrow(LOCK, account_id, book_id)
    return book_of(row) if row else None


RECENT = f"""
    SELECT {COLUMNS}, c.chapters_count, c.word_count
      FROM book b
     CROSS JOIN LATERAL (SELECT count(*) AS chapters_count, coalesce(sum(word_count), 0)::bigint AS word_count
                           FROM chapter WHERE book_id = b.id) c
     WHERE b.account_id = $1
     ORDER BY b.updated_at DESC, b.id DESC
     LIMIT $2
"""


async def recent(db: DB, account_id: int, limit: int | None = None) -> list[ListedBook]:
    """Most recently updated first."""
    return [
        ListedBook(book_of(row), row["chapters_count"], row["word_count"])
        for row in await db.fetch(RECENT, account_id, limit)
    ]


TITLES = "SELECT id, title FROM book WHERE account_id = $1 ORDER BY updated_at DESC, id DESC"


async def titles(db: DB, account_id: int) -> list[dict[str, Any]]:
    return [dict(row) for row in await db.fetch(TITLES, account_id)]


SAVE = f"""
    UPDATE book AS b
       SET title = $2, subtitle = $3, author_name = $4, genre = $5, target_audience = $6, description = $7,
           style_notes = $8, chapter_count = $9, target_word_count = $10, trim_size = $11, content_language = $12,
           status = $13, updated_at = now()
     WHERE id = $1
    RETURNING {COLUMNS}
"""


async def save(db: DB, book: Book, changes: Mapping[str, Any]) -> Book:
    """Writes the changed book; the caller has found it as its owner."""
    changed = replace(book, **changes)
    row = await db.fetchrow(
        SAVE,
        changed.id,
        changed.title,
        changed.subtitle,
        changed.author_name,
        changed.genre,
        changed.target_audience,
        changed.description,
        changed.style_notes,
        changed.chapter_count,
        changed.target_word_count,
        changed.trim_size,
        changed.content_language,
        changed.status,
    )
    return book_of(row)


COPY = f"""
    INSERT INTO book AS b (account_id, title, subtitle, author_name, genre, target_audience, description, style_notes,
                           chapter_count, target_word_count, trim_size, content_language, bible)
    SELECT account_id, title, subtitle, author_name, genre, target_audience, description, style_notes,
           chapter_count, target_word_count, trim_size, content_language, bible
      FROM book
     WHERE id = $2 AND account_id = $1
    RETURNING {COLUMNS}
"""

COPY_CHAPTERS = """
    INSERT INTO chapter (book_id, chapter_number, title, summary, content, word_count, target_word_count, status)
    SELECT $2, chapter_number, title, summary, content, word_count, target_word_count,
           CASE WHEN content = '' THEN 'pending' ELSE 'completed' END
      FROM chapter
     WHERE book_id = $1
"""

COPY_DIGESTS = """
    INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
    SELECT copy.id, d.content_hash, d.summary, d.facts, d.threads_opened, d.threads_closed
      FROM chapter original
      JOIN digest d ON d.chapter_id = original.id
      JOIN chapter copy ON copy.book_id = $2 AND copy.chapter_number = original.chapter_number
     WHERE original.book_id = $1
"""


async def duplicate(db: DB, account_id: int, book_id: int) -> Book | None:
    """A draft with the same texts; runs, former texts and funding stay with the original."""
    row = await db.fetchrow(COPY, account_id, book_id)
    if row is None:
        return None
    copy = book_of(row)
    await db.execute(COPY_CHAPTERS, book_id, copy.id)
    await db.execute(COPY_DIGESTS, book_id, copy.id)
    return copy


def book_of(row: Record) -> Book:
    """A row that starts with COLUMNS."""
    source = row["funding_source"]
    return Book(
        id=row["id"],
        account_id=row["account_id"],
        title=row["title"],
        subtitle=row["subtitle"],
        author_name=row["author_name"],
        genre=row["genre"],
        target_audience=row["target_audience"],
        description=row["description"],
        style_notes=row["style_notes"],
        chapter_count=row["chapter_count"],
        target_word_count=row["target_word_count"],
        trim_size=row["trim_size"],
        content_language=row["content_language"],
        status=BookStatus(row["status"]),
        bible=row["bible"],
        funding_source=FundingSource(source) if source else None,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
