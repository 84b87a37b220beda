"""The statements of `bookgen files move`, which moves pictures and exports to another place.

A place is the database, a folder or a bucket. The command copies each file that is not in the target place, and then
makes its row refer to the copy. A row is changed only if it still refers to the file that was copied. The bytes of a
file never change.
"""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from bookgen.store import exports, media, stored_files
from bookgen.store.database import DB
from bookgen.store.stored_files import FoundFile, StoredFile

BATCH = 64


@dataclass(frozen=True, slots=True)
class MovablePicture:
    """A picture. `file`: the file outside the database that its row refers to; None if the row contains the bytes."""

    key: str
    bytes: int
    file: StoredFile | None


@dataclass(frozen=True, slots=True)
class MovableExport:
    """An exported file. `file`: the file outside the database that its row refers to; None if the row has the bytes."""

    book_id: int
    digest: str
    bytes: int
    file: StoredFile | None


Movable = MovablePicture | MovableExport

ELSEWHERE = """
    SELECT count(*) AS files, coalesce(sum(bytes), 0)::bigint AS bytes
      FROM (SELECT coalesce(octet_length(m.body), f.size) AS bytes
              FROM media m LEFT JOIN stored_file f ON f.id = m.file_id WHERE f.place IS DISTINCT FROM $1::text
             UNION ALL
            SELECT coalesce(octet_length(e.body), f.size)
              FROM export_file e LEFT JOIN stored_file f ON f.id = e.file_id WHERE f.place IS DISTINCT FROM $1) AS each
"""


async def elsewhere(db: DB, place: str | None) -> tuple[int, int]:
    """How many pictures and exports are not in `place`, and their total size in bytes.

    A `place` of None is the database itself.
    """
    row = await db.fetchrow(ELSEWHERE, place)
    return row["files"], row["bytes"]


PICTURES = f"""
    SELECT m.key, coalesce(octet_length(m.body), f.size) AS bytes, {stored_files.COLUMNS}
      FROM media m LEFT JOIN stored_file f ON f.id = m.file_id
     WHERE f.place IS DISTINCT FROM $1::text AND m.key > $2
     ORDER BY m.key LIMIT $3
"""


async def pictures(db: DB, place: str | None, after: str) -> list[MovablePicture]:
    """The next pictures that are not in `place`, ordered by key. `after`: the key of the last picture handled."""
    return [
        MovablePicture(row["key"], row["bytes"], _file(row)) for row in await db.fetch(PICTURES, place, after, BATCH)
    ]


EXPORTS = f"""
    SELECT e.book_id, e.digest, coalesce(octet_length(e.body), f.size) AS bytes, {stored_files.COLUMNS}
      FROM export_file e LEFT JOIN stored_file f ON f.id = e.file_id
     WHERE f.place IS DISTINCT FROM $1::text AND (e.book_id, e.digest) > ($2::bigint, $3)
     ORDER BY e.book_id, e.digest LIMIT $4
"""


async def exported(db: DB, place: str | None, after: tuple[int, str]) -> list[MovableExport]:
    """The next exports that are not in `place`. `after`: the book id and digest of the last export handled."""
    rows = await db.fetch(EXPORTS, place, *after, BATCH)
    return [MovableExport(row["book_id"], row["digest"], row["bytes"], _file(row)) for row in rows]


def _file(row: asyncpg.Record) -> StoredFile | None:
    return None if row["id"] is None else stored_files.file_of(row)


async def find(db: DB, each: Movable) -> FoundFile | None:
    """The bytes or the file that the row of the picture or export refers to now; None if the row is gone."""
    if isinstance(each, MovablePicture):
        return await media.find(db, each.key)
    return await exports.find(db, each.book_id, each.digest)


PICTURE_TO_FILE = """
    UPDATE media SET body = NULL, file_id = $3 WHERE key = $1 AND file_id IS NOT DISTINCT FROM $2::bigint RETURNING true
"""
EXPORT_TO_FILE = """
    UPDATE export_file SET body = NULL, file_id = $4
     WHERE book_id = $1 AND digest = $2 AND file_id IS NOT DISTINCT FROM $3::bigint RETURNING true
"""


async def to_file(db: DB, each: Movable, file_id: int) -> bool:
    """Make the row refer to another file. Returns False if the row has changed or is gone."""
    former = each.file.id if each.file else None
    if isinstance(each, MovablePicture):
        return bool(await db.fetchval(PICTURE_TO_FILE, each.key, former, file_id))
    return bool(await db.fetchval(EXPORT_TO_FILE, each.book_id, each.digest, former, file_id))
