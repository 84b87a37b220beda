"""Pictures, stored under unguessable keys that are part of their URLs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bookgen.models import SourceType
from bookgen.store import stored_files
from bookgen.store.stored_files import FoundFile, NewFile, StoredFile

if TYPE_CHECKING:
    from bookgen.store.database import DB

_KEY_BYTES = 24

FIND = f"""
    SELECT m.body, {stored_files.COLUMNS}
      FROM media m LEFT JOIN stored_file f ON f.id = m.file_id
     WHERE m.key = $1
"""


async def find(db: DB, key: str) -> FoundFile | None:
    """The picture, a JPEG. The key alone grants access to it."""
    return stored_files.found(await db.fetchrow(FIND, key))


EXISTS = "SELECT EXISTS (SELECT FROM media WHERE key = $1)"


async def exists(db: DB, key: str) -> bool:
    return bool(await db.fetchval(EXISTS, key))


ADD = """
    INSERT INTO media (key, book_id, body, file_id, width, height, source_type) VALUES ($1, $2, $3, $4, $5, $6, $7)
"""


async def add(db: DB, book_id: int, new: NewFile, width: int, height: int, source: SourceType) -> str:
    """Store a picture of `width` by `height` pixels. Returns its key."""
    key = secrets.token_urlsafe(_KEY_BYTES)
    await db.execute(ADD, key, book_id, new.body, new.file_id, width, height, source)
    return key


OUTSIDE = f"""
    SELECT {stored_files.COLUMNS}
      FROM book b
      JOIN media m ON m.book_id = b.id
      JOIN stored_file f ON f.id = m.file_id
     WHERE b.id = $2 AND b.account_id = $1
"""


async def outside(db: DB, account_id: int, book_id: int) -> list[StoredFile]:
    """The pictures of the account's book that are outside the database."""
    return [stored_files.file_of(row) for row in await db.fetch(OUTSIDE, account_id, book_id)]


# The lock keeps others from deleting or moving a picture, so it is copied together with the row that shows it.
LOCK_OF_BOOK = "SELECT key, file_id FROM media WHERE book_id = $1 FOR SHARE"

COPY = """
    INSERT INTO media (key, book_id, body, file_id, width, height, source_type)
    SELECT k.copy, $2, CASE WHEN k.file_id IS NULL THEN coalesce(k.body, m.body) END, k.file_id,
           m.width, m.height, m.source_type
      FROM unnest($3::text[], $4::text[], $5::bytea[], $6::bigint[]) AS k (original, copy, body, file_id)
      JOIN media m ON m.key = k.original
     WHERE m.book_id = $1
"""


async def copy(db: DB, book_id: int, copy_id: int, files: Mapping[int, NewFile | None]) -> dict[str, str] | None:
    """Copy a book's pictures to its copy, in the caller's transaction. Returns the new keys by the old keys.

    `files` maps the id of each of the book's files outside the database to the copy of that file. The copy is None if
    the file is lost; the picture is then left out. If a file is missing from `files`, nothing is copied and None is
    returned.
    """
    rows = await db.fetch(LOCK_OF_BOOK, book_id)
    if any(row["file_id"] is not None and row["file_id"] not in files for row in rows):
        return None
    news = [NewFile(None) if row["file_id"] is None else files[row["file_id"]] for row in rows]
    rows = [row for row, new in zip(rows, news, strict=True) if new]
    originals = [row["key"] for row in rows]
    copies = [secrets.token_urlsafe(_KEY_BYTES) for _ in originals]
    bodies, ids = [new.body for new in news if new], [new.file_id for new in news if new]
    await db.execute(COPY, book_id, copy_id, originals, copies, bodies, ids)
    return dict(zip(originals, copies, strict=True))
