"""Cover variants of a book. One of them may be selected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bookgen.models import Cover
from bookgen.store.rows import columns, field_names, mapper

if TYPE_CHECKING:
    from bookgen.store.database import DB

BATCH = 500
COLUMNS = columns(field_names(Cover), "c")

cover_of = mapper(Cover)

OF_BOOK = f"SELECT {COLUMNS} FROM cover c WHERE c.book_id = $1 ORDER BY c.id"


async def of_book(db: DB, book_id: int) -> list[Cover]:
    """The book's covers, oldest first. The caller has checked the book's owner."""
    return [cover_of(row) for row in await db.fetch(OF_BOOK, book_id)]


SELECTED_OF_ACCOUNT = """
    SELECT c.book_id, c.image_key
      FROM book b
      JOIN cover c ON c.book_id = b.id AND c.is_selected
     WHERE b.account_id = $1
"""


async def selected_of_account(db: DB, account_id: int) -> dict[int, str]:
    """The media key of each book's selected cover, by book id."""
    return {row["book_id"]: row["image_key"] for row in await db.fetch(SELECTED_OF_ACCOUNT, account_id)}


SELECTED = f"SELECT {COLUMNS} FROM cover c WHERE c.book_id = $1 AND c.is_selected"


async def selected(db: DB, book_id: int) -> Cover | None:
    row = await db.fetchrow(SELECTED, book_id)
    return row and cover_of(row)


ADD = f"""
    INSERT INTO cover AS c (book_id, style, prompt, image_key, thumbnail_key, width, height, design)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    RETURNING {COLUMNS}
"""


async def add(
    db: DB,
    book_id: int,
    *,
    style: str,
    prompt: str,
    image_key: str,
    thumbnail_key: str,
    width: int,
    height: int,
    design: dict[str, Any] | None,
) -> Cover:
    return cover_of(await db.fetchrow(ADD, book_id, style, prompt, image_key, thumbnail_key, width, height, design))


UNSELECT = "UPDATE cover SET is_selected = false WHERE book_id = $1 AND is_selected"

SELECT = "UPDATE cover SET is_selected = true WHERE book_id = $1 AND id = $2 RETURNING true"


async def select(connection: DB, book_id: int, cover_id: int) -> bool:
    """Select this cover. Returns False if the book has no such cover. The caller's transaction has locked the book."""
    await connection.execute(UNSELECT, book_id)
    return bool(await connection.fetchval(SELECT, book_id, cover_id))


COPY = """
    INSERT INTO cover (book_id, style, prompt, image_key, thumbnail_key, width, height, is_selected, design)
    SELECT $2, c.style, c.prompt, image.copy, thumbnail.copy, c.width, c.height, c.is_selected, c.design
      FROM cover c
      JOIN unnest($3::text[], $4::text[]) AS image (original, copy) ON image.original = c.image_key
      JOIN unnest($3::text[], $4::text[]) AS thumbnail (original, copy) ON thumbnail.original = c.thumbnail_key
     WHERE c.book_id = $1
     ORDER BY c.id
"""


async def copy(db: DB, book_id: int, copy_id: int, keys: Mapping[str, str]) -> None:
    """Copy a book's covers to its copy. `keys` maps the original media keys to those of the copies."""
    await db.execute(COPY, book_id, copy_id, list(keys), list(keys.values()))


# Takes only books that nobody is changing, because a book is locked before its pictures.
FORGET_UNSELECTED = """
    WITH old AS (
        SELECT c.id
          FROM book b
          JOIN LATERAL (SELECT id, created_at, row_number() OVER (ORDER BY id DESC) AS place
                          FROM cover WHERE book_id = b.id AND NOT is_selected) AS c
            ON c.place > $1 OR c.created_at < now() - $2 * interval '1 second'
         LIMIT $3 FOR NO KEY UPDATE OF b SKIP LOCKED
    )
    DELETE FROM cover USING old WHERE cover.id = old.id AND NOT cover.is_selected
"""


async def forget_unselected(db: DB, keep: int | None, seconds: float | None) -> int:
    """Delete one batch of unselected covers, and return how many were deleted.

    Of each book, only the newest `keep` unselected covers stay, and only if they are not older than `seconds`. None
    means no such limit.
    """
    status: str = await db.execute(FORGET_UNSELECTED, keep, seconds, BATCH)
    return int(status.split()[-1])
