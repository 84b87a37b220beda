"""Pictures within chapters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bookgen.models import Illustration
from bookgen.store.rows import columns, field_names, mapper

if TYPE_CHECKING:
    from bookgen.store.database import DB

COLUMNS = columns(field_names(Illustration), "i")

illustration_of = mapper(Illustration)

OF_CHAPTER = f"SELECT {COLUMNS} FROM illustration i WHERE i.chapter_id = $1 ORDER BY i.position, i.id"


async def of_chapter(db: DB, chapter_id: int) -> list[Illustration]:
    """The chapter's pictures in the order of the text. The caller has checked the chapter's owner."""
    return [illustration_of(row) for row in await db.fetch(OF_CHAPTER, chapter_id)]


OF_BOOK = f"""
    SELECT {COLUMNS}
      FROM chapter c
      JOIN illustration i ON i.chapter_id = c.id
     WHERE c.book_id = $1
     ORDER BY c.chapter_number, i.position, i.id
"""


async def of_book(db: DB, book_id: int) -> list[Illustration]:
    """The book's pictures in the order of the text. The caller has checked the book's owner."""
    return [illustration_of(row) for row in await db.fetch(OF_BOOK, book_id)]


OF_ACCOUNT = f"""
    SELECT {COLUMNS}
      FROM book b
      JOIN chapter c ON c.book_id = b.id
      JOIN illustration i ON i.chapter_id = c.id
     WHERE b.account_id = $1
     ORDER BY i.chapter_id, i.position, i.id
"""


async def of_account(db: DB, account_id: int) -> list[Illustration]:
    return [illustration_of(row) for row in await db.fetch(OF_ACCOUNT, account_id)]


ADD = f"""
    INSERT INTO illustration AS i (chapter_id, caption, alt_text, prompt, image_key, position, width, height)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    RETURNING {COLUMNS}
"""


async def add(
    db: DB,
    chapter_id: int,
    *,
    caption: str,
    alt_text: str,
    prompt: str,
    image_key: str,
    position: int,
    width: int,
    height: int,
) -> Illustration:
    row = await db.fetchrow(ADD, chapter_id, caption, alt_text, prompt, image_key, position, width, height)
    return illustration_of(row)


CLEAR = "DELETE FROM illustration WHERE chapter_id = $1"


async def clear(db: DB, chapter_id: int) -> None:
    """Delete the chapter's pictures."""
    await db.execute(CLEAR, chapter_id)


FIND = f"""
    SELECT {COLUMNS}
      FROM illustration i JOIN chapter c ON c.id = i.chapter_id JOIN book b ON b.id = c.book_id
     WHERE i.id = $2 AND b.account_id = $1
"""


async def find(db: DB, account_id: int, illustration_id: int) -> Illustration | None:
    row = await db.fetchrow(FIND, account_id, illustration_id)
    return row and illustration_of(row)


CHANGE = f"""
    UPDATE illustration i
       SET caption = coalesce($3, i.caption), alt_text = coalesce($4, i.alt_text), position = coalesce($5, i.position)
      FROM chapter c, book b
     WHERE i.id = $2 AND c.id = i.chapter_id AND b.id = c.book_id AND b.account_id = $1
    RETURNING {COLUMNS}
"""


async def change(db: DB, account_id: int, illustration_id: int, changes: Mapping[str, Any]) -> Illustration | None:
    """Change the caption, alt text and position given in `changes`. None if the picture is not the account's."""
    values = (changes.get(name) for name in ("caption", "alt_text", "position"))
    row = await db.fetchrow(CHANGE, account_id, illustration_id, *values)
    return row and illustration_of(row)


# Locks the book first, because a concurrent transaction may be deleting it and its pictures.
DELETE = """
    WITH owned AS (
        SELECT b.id FROM book b JOIN chapter c ON c.book_id = b.id JOIN illustration i ON i.chapter_id = c.id
         WHERE i.id = $2 AND b.account_id = $1
           FOR KEY SHARE OF b
    )
    DELETE FROM illustration WHERE id = $2 AND EXISTS (SELECT FROM owned) RETURNING true
"""


async def delete(db: DB, account_id: int, illustration_id: int) -> bool:
    """Delete the picture. Returns whether the account had it."""
    return bool(await db.fetchval(DELETE, account_id, illustration_id))


COPY = """
    INSERT INTO illustration (chapter_id, caption, alt_text, prompt, image_key, position, width, height)
    SELECT copied.id, i.caption, i.alt_text, i.prompt, image.copy, i.position, i.width, i.height
      FROM chapter original
      JOIN illustration i ON i.chapter_id = original.id
      JOIN chapter copied ON copied.book_id = $2 AND copied.chapter_number = original.chapter_number
      JOIN unnest($3::text[], $4::text[]) AS image (original, copy) ON image.original = i.image_key
     WHERE original.book_id = $1
     ORDER BY i.id
"""


async def copy(db: DB, book_id: int, copy_id: int, keys: Mapping[str, str]) -> None:
    """Copy a book's chapter pictures to its copy. `keys` maps the original media keys to those of the copies."""
    await db.execute(COPY, book_id, copy_id, list(keys), list(keys.values()))
