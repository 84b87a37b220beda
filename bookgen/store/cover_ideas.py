"""The cover design that a model has proposed for a book, stored so that the same book gets the same covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bookgen.store.database import DB

FIND = "SELECT cover_idea -> 'idea' FROM book WHERE id = $1 AND cover_idea ->> 'asked' = $2"


async def find(db: DB, book_id: int, asked: str) -> Mapping[str, Any] | None:
    """The stored design if a model proposed it for the request with the hash `asked`; otherwise None."""
    found: Mapping[str, Any] | None = await db.fetchval(FIND, book_id, asked)
    return found


SAVE = "UPDATE book SET cover_idea = $2 WHERE id = $1"


async def save(db: DB, book_id: int, asked: str, idea: Mapping[str, Any]) -> None:
    await db.execute(SAVE, book_id, {"asked": asked, "idea": idea})
