"""Outline edits by the author: adding, describing, removing and renumbering chapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bookgen.store.database import DB

ADD_CHAPTER = """
    INSERT INTO chapter (book_id, chapter_number, title, summary, target_word_count, plan)
    VALUES ($1, $2, $3, $4, $5, $6)
"""


async def add_chapter(
    db: DB,
    book_id: int,
    chapter_number: int,
    title: str,
    summary: str,
    target_word_count: int,
    plan: Mapping[str, Any],
) -> None:
    await db.execute(ADD_CHAPTER, book_id, chapter_number, title, summary, target_word_count, dict(plan))


DESCRIBE_CHAPTER = """
    UPDATE chapter SET title = $2, summary = $3, target_word_count = $4, plan = $5, updated_at = now() WHERE id = $1
"""


async def describe_chapter(
    db: DB, chapter_id: int, title: str, summary: str, target_word_count: int, plan: Mapping[str, Any]
) -> None:
    """Set the title, summary, target word count and plan of a chapter. Its text stays."""
    await db.execute(DESCRIBE_CHAPTER, chapter_id, title, summary, target_word_count, dict(plan))


REMOVE_OTHERS = "DELETE FROM chapter WHERE book_id = $1 AND id <> ALL ($2::bigint[])"


async def remove_others(db: DB, book_id: int, kept: Sequence[int]) -> None:
    """Delete all chapters of the book except those with the ids in `kept`."""
    await db.execute(REMOVE_OTHERS, book_id, kept)


# One statement, because the uniqueness of chapter numbers is only checked at its end.
RENUMBER = """
    UPDATE chapter AS c
       SET chapter_number = new.number
      FROM unnest($2::bigint[], $3::int[]) AS new (id, number)
     WHERE c.id = new.id AND c.book_id = $1 AND c.chapter_number <> new.number
"""


async def renumber(db: DB, book_id: int, numbers: Mapping[int, int]) -> None:
    """Set new chapter numbers. `numbers` maps chapter ids to them."""
    await db.execute(RENUMBER, book_id, list(numbers), list(numbers.values()))
