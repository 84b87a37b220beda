"""Pictures, stored under unguessable keys that are part of their URLs."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from bookgen.models import SourceType

if TYPE_CHECKING:
    from bookgen.store.database import DB

_KEY_BYTES = 24

FIND = "SELECT body FROM media WHERE key = $1"


async def find(db: DB, key: str) -> bytes | None:
    """The picture as JPEG. The key alone grants access to it."""
    body: bytes | None = await db.fetchval(FIND, key)
    return body


EXISTS = "SELECT EXISTS (SELECT FROM media WHERE key = $1)"


async def exists(db: DB, key: str) -> bool:
    return bool(await db.fetchval(EXISTS, key))


ADD = "INSERT INTO media (key, book_id, body, width, height, source_type) VALUES ($1, $2, $3, $4, $5, $6)"


async def add(db: DB, book_id: int, body: bytes, width: int, height: int, source: SourceType) -> str:
    """Store a picture of `width` by `height` pixels. Returns its key."""
    key = secrets.token_urlsafe(_KEY_BYTES)
    await db.execute(ADD, key, book_id, body, width, height, source)
    return key


# The lock keeps others from deleting a picture, so it is copied together with the row that shows it.
LOCK_OF_BOOK = "SELECT key FROM media WHERE book_id = $1 FOR KEY SHARE"

COPY = """
    INSERT INTO media (key, book_id, body, width, height, source_type)
    SELECT k.copy, $2, m.body, m.width, m.height, m.source_type
      FROM unnest($3::text[], $4::text[]) AS k (original, copy)
      JOIN media m ON m.key = k.original
     WHERE m.book_id = $1
"""


async def copy(db: DB, book_id: int, copy_id: int) -> dict[str, str]:
    """Copy a book's pictures to its copy, in the caller's transaction. Returns the new keys by the old ones."""
    originals = [row["key"] for row in await db.fetch(LOCK_OF_BOOK, book_id)]
    copies = [secrets.token_urlsafe(_KEY_BYTES) for _ in originals]
    await db.execute(COPY, book_id, copy_id, originals, copies)
    return dict(zip(originals, copies, strict=True))
