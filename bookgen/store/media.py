"""Pictures by the key in their address, which nobody can guess."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.store.database import DB

_KEY_BYTES = 24

FIND = "SELECT body FROM media WHERE key = $1"


async def find(db: DB, key: str) -> bytes | None:
    """A JPEG. Whoever knows its key may see it."""
    body: bytes | None = await db.fetchval(FIND, key)
    return body


ADD = "INSERT INTO media (key, book_id, body, width, height) VALUES ($1, $2, $3, $4, $5)"


async def add(db: DB, book_id: int, body: bytes, width: int, height: int) -> str:
    """The key of a new picture of `width` by `height` pixels."""
    key = secrets.token_urlsafe(_KEY_BYTES)
    await db.execute(ADD, key, book_id, body, width, height)
    return key
