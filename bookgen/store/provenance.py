"""Where the content of a book came from: its texts, their revisions, its pictures, and the models that were called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bookgen.models import SourceType

if TYPE_CHECKING:
    from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class FormerText:
    """A revision of a chapter, without its text. `origin`: why the revision exists; mostly, what replaced the text.

    `written_at`: when a model wrote the text; None if no model did, or if the time is not known.
    """

    id: int
    chapter_id: int
    origin: str
    writer: str
    written_at: datetime | None
    created_at: datetime


REVISIONS = """
    SELECT r.id, r.chapter_id, r.origin, r.writer, r.written_at, r.created_at
      FROM book b
      JOIN chapter c ON c.book_id = b.id
      JOIN chapter_revision r ON r.chapter_id = c.id
     WHERE b.id = $2 AND b.account_id = $1 AND r.title IS NULL
     ORDER BY r.id
"""


async def revisions(db: DB, account_id: int, book_id: int) -> list[FormerText]:
    """The revisions of the chapters' texts, oldest first. Revisions of titles and summaries are left out."""
    return [FormerText(**row) for row in await db.fetch(REVISIONS, account_id, book_id)]


TEXTS = """
    SELECT r.id, r.content
      FROM book b
      JOIN chapter c ON c.book_id = b.id
      JOIN chapter_revision r ON r.chapter_id = c.id
     WHERE b.id = $2 AND b.account_id = $1 AND r.id = ANY($3::bigint[])
"""


async def texts(db: DB, account_id: int, book_id: int, revision_ids: Sequence[int]) -> dict[int, str]:
    """The texts of these revisions, by their ids."""
    return {row["id"]: row["content"] for row in await db.fetch(TEXTS, account_id, book_id, list(revision_ids))}


@dataclass(frozen=True, slots=True)
class PictureOrigin:
    """How a picture of a book was made. `is_cover`: the picture is the book's selected cover, not one in a chapter."""

    is_cover: bool
    source: SourceType


PICTURES = """
    SELECT shown.is_cover, m.source_type
      FROM book b
     CROSS JOIN LATERAL (
           SELECT true AS is_cover, image_key FROM cover WHERE book_id = b.id AND is_selected
            UNION ALL
           SELECT false, i.image_key FROM chapter c JOIN illustration i ON i.chapter_id = c.id WHERE c.book_id = b.id
           ) AS shown
      JOIN media m ON m.key = shown.image_key
     WHERE b.id = $2 AND b.account_id = $1
"""


async def pictures(db: DB, account_id: int, book_id: int) -> list[PictureOrigin]:
    """The origins of the selected cover and of the illustrations."""
    rows = await db.fetch(PICTURES, account_id, book_id)
    return [PictureOrigin(row["is_cover"], SourceType(row["source_type"])) for row in rows]


@dataclass(frozen=True, slots=True)
class CalledModel:
    """A model that was called for a book. `translated`: whether it translated the book."""

    name: str
    translated: bool


MODELS = """
    SELECT p.model AS name, bool_or(p.stage = 'translation') AS translated
      FROM book b
      JOIN model_call p ON p.book_id = b.id
     WHERE b.id = $2 AND b.account_id = $1
     GROUP BY p.model
     ORDER BY p.model
"""


async def models(db: DB, account_id: int, book_id: int) -> list[CalledModel]:
    """The models that were called for the book, in the order of their names."""
    return [CalledModel(**row) for row in await db.fetch(MODELS, account_id, book_id)]
