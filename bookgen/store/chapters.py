"""Chapters: reading them, and an author's hand on their titles, budgets and texts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bookgen.models import Chapter, ChapterStatus, RevisionOrigin
from bookgen.store import revisions
from bookgen.words import count_words

if TYPE_CHECKING:
    from asyncpg import Connection, Pool, Record

    from bookgen.store.database import DB

COLUMNS = """
    c.id, c.book_id, c.chapter_number, c.title, c.summary, c.content, c.word_count, c.target_word_count, c.status,
    c.content_version, c.created_at, c.updated_at
"""

OF_BOOK = f"SELECT {COLUMNS} FROM chapter c WHERE c.book_id = $1 ORDER BY c.chapter_number"


async def of_book(db: DB, book_id: int) -> list[Chapter]:
    """In order. The caller has found the book as its owner."""
    return [chapter_of(row) for row in await db.fetch(OF_BOOK, book_id)]


FINDINGS = """
    SELECT chapter_number, quality
      FROM chapter
     WHERE book_id = $1 AND quality <> '[]'
     ORDER BY chapter_number
"""


async def findings(db: DB, book_id: int) -> list[dict[str, Any]]:
    """What the quality gate saw in the book's chapters and could not mend, in order."""
    rows = await db.fetch(FINDINGS, book_id)
    return [{"chapter_number": row["chapter_number"], **finding} for row in rows for finding in row["quality"]]


LOCK_OF_BOOK = f"{OF_BOOK} FOR UPDATE"


async def lock_of_book(db: DB, book_id: int) -> list[Chapter]:
    """In order, kept from other writers. Chapters are locked before their book, here as when a run finishes."""
    return [chapter_of(row) for row in await db.fetch(LOCK_OF_BOOK, book_id)]


OF_ACCOUNT = f"""
    SELECT {COLUMNS}
      FROM book b
      JOIN chapter c ON c.book_id = b.id
     WHERE b.account_id = $1
     ORDER BY b.id DESC, c.chapter_number
"""


async def of_account(db: Pool, account_id: int) -> AsyncGenerator[Chapter, None]:
    """Every chapter of the account's books, a few at a time: together they may be many megabytes."""
    async with db.acquire() as connection, connection.transaction(readonly=True):
        async for row in connection.cursor(OF_ACCOUNT, account_id):
            yield chapter_of(row)


FIND = f"""
    SELECT {COLUMNS}
      FROM chapter c
      JOIN book b ON b.id = c.book_id
     WHERE c.id = $2 AND b.account_id = $1
"""


async def find(db: DB, account_id: int, chapter_id: int) -> Chapter | None:
    row = await db.fetchrow(FIND, account_id, chapter_id)
    return chapter_of(row) if row else None


LOCK = f"{FIND} FOR UPDATE OF c"

TOUCH_BOOK = "UPDATE book SET updated_at = now() WHERE id = $1"

SAVE = f"""
    UPDATE chapter AS c
       SET title = $2, summary = $3, target_word_count = $4, content = $5, word_count = $6, status = $7,
           content_version = c.content_version + $8::int, updated_at = now(),
           quality = CASE WHEN $8::int = 1 THEN '[]' ELSE c.quality END
     WHERE id = $1
    RETURNING {COLUMNS}
"""


async def edit(
    connection: Connection, account_id: int, chapter_id: int, changes: Mapping[str, Any], origin: RevisionOrigin
) -> Chapter | None:
    """Changes a chapter in one transaction; a text that is overwritten is kept as a revision."""
    async with connection.transaction():
        found = await connection.fetchrow(LOCK, account_id, chapter_id)
        if found is None:
            return None
        chapter = chapter_of(found)
        content = changes.get("content", chapter.content)
        rewritten = content != chapter.content
        if rewritten:
            await revisions.keep(connection, chapter.id, origin, chapter.content, chapter.word_count)
        row = await connection.fetchrow(
            SAVE,
            chapter.id,
            changes.get("title", chapter.title),
            changes.get("summary", chapter.summary),
            changes.get("target_word_count", chapter.target_word_count),
            content,
            count_words(content) if rewritten else chapter.word_count,
            _status_of(content) if rewritten else chapter.status,
            int(rewritten),
        )
        await connection.execute(TOUCH_BOOK, chapter.book_id)
        return chapter_of(row)


def _status_of(content: str) -> ChapterStatus:
    return ChapterStatus.COMPLETED if content.strip() else ChapterStatus.PENDING


WORDS_BEYOND_TARGET = """
    SELECT sum(c.target_word_count)::bigint
      FROM book b
      JOIN chapter c ON c.book_id = b.id
     WHERE b.id = $1
     GROUP BY b.target_word_count
    HAVING sum(c.target_word_count) > b.target_word_count
"""


async def words_beyond_target(db: DB, book_id: int) -> int | None:
    """The sum of the chapters' budgets where it exceeds the book's target."""
    words: int | None = await db.fetchval(WORDS_BEYOND_TARGET, book_id)
    return words


# Whole words in proportion: each chapter gets what lies between its own running share and the one before it.
REBUDGET = """
    WITH ahead AS (
        SELECT id, own, count(*) OVER () AS chapters, sum(own) OVER (ORDER BY chapter_number) AS upto,
               sum(own) OVER () AS total
          FROM chapter CROSS JOIN LATERAL greatest(target_word_count, 1) AS own
         WHERE book_id = $1 AND content = ''
    ), room AS (
        SELECT $2::bigint - coalesce(sum(target_word_count), 0) AS words
          FROM chapter
         WHERE book_id = $1 AND content <> ''
    )
    UPDATE chapter AS c
       SET target_word_count = 1 + (words - chapters) * upto / total - (words - chapters) * (upto - own) / total,
           updated_at = now()
      FROM ahead, room
     WHERE c.id = ahead.id AND words >= chapters
"""


async def rebudget(db: DB, book_id: int, target_word_count: int) -> None:
    """Makes the budgets sum to the book's new target; only chapters that are not written yet give or take."""
    await db.execute(REBUDGET, book_id, target_word_count)


INSERT = """
    INSERT INTO chapter (book_id, chapter_number, title, summary, target_word_count) VALUES ($1, $2, $3, $4, $5)
"""


async def insert(db: DB, book_id: int, chapter_number: int, title: str, summary: str, target_word_count: int) -> None:
    await db.execute(INSERT, book_id, chapter_number, title, summary, target_word_count)


DESCRIBE = """
    UPDATE chapter SET title = $2, summary = $3, target_word_count = $4, updated_at = now() WHERE id = $1
"""


async def describe(db: DB, chapter_id: int, title: str, summary: str, target_word_count: int) -> None:
    """Title, summary and budget of a chapter, whatever it says."""
    await db.execute(DESCRIBE, chapter_id, title, summary, target_word_count)


DELETE_OTHERS = "DELETE FROM chapter WHERE book_id = $1 AND id <> ALL ($2::bigint[])"


async def delete_others(db: DB, book_id: int, kept: Sequence[int]) -> None:
    await db.execute(DELETE_OTHERS, book_id, kept)


# One statement, since the uniqueness of a number in its book is checked at the statement's end.
RENUMBER = """
    UPDATE chapter AS c
       SET chapter_number = place.number
      FROM unnest($2::bigint[], $3::int[]) AS place (id, number)
     WHERE c.id = place.id AND c.book_id = $1 AND c.chapter_number <> place.number
"""


async def renumber(db: DB, book_id: int, places: Mapping[int, int]) -> None:
    """Gives chapters new numbers, by id."""
    await db.execute(RENUMBER, book_id, list(places), list(places.values()))


def chapter_of(row: Record) -> Chapter:
    """A row that has COLUMNS."""
    return Chapter(
        id=row["id"],
        book_id=row["book_id"],
        chapter_number=row["chapter_number"],
        title=row["title"],
        summary=row["summary"],
        content=row["content"],
        word_count=row["word_count"],
        target_word_count=row["target_word_count"],
        status=ChapterStatus(row["status"]),
        content_version=row["content_version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
