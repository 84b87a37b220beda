"""The files outside the database: pictures and exports that are kept in a folder or a bucket (the `place`).

Each file has a row in `stored_file`, which is inserted before the file is written and deleted after its removal. The
row's state is `new` at first. Triggers set it to `used` when a picture or an export refers to the file, and to `unused`
when that is deleted. Unused files are removed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg

    from bookgen.store.database import DB

TABLE = "stored_file"
LOST = "lost"  # the place of files that the restored backup of this database does not contain
BATCH = 500


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file outside the database. `place`: the folder or bucket. `name`: its name there. `size`: in bytes."""

    id: int
    place: str
    name: str
    size: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class NewFile:
    """The content for a new row: the bytes themselves, or the id of a file that was written outside the database."""

    body: bytes | None
    file_id: int | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The content of a picture or an export: either the bytes themselves, or the file outside the database."""

    body: bytes | None
    file: StoredFile | None


COLUMNS = "f.id, f.place, f.name, f.size, f.sha256"


def file_of(row: Mapping[str, Any]) -> StoredFile:
    return StoredFile(*(row[name] for name in ("id", "place", "name", "size", "sha256")))


def found(row: Mapping[str, Any] | None) -> FoundFile | None:
    """The picture or export in `row`; None without a row.

    `row` must come from a query that joins `stored_file f` and selects COLUMNS and `body` (the bytes).
    """
    if row is None:
        return None
    return FoundFile(row["body"], None if row["id"] is None else file_of(row))


INSERT_NEW = "INSERT INTO stored_file (place, name, size, sha256) VALUES ($1, $2, $3, $4) RETURNING id"


async def insert_new(db: DB, place: str, name: str, size: int, sha256: bytes) -> StoredFile:
    """Insert the row of a file that is about to be written. No picture or export refers to it yet."""
    return StoredFile(await db.fetchval(INSERT_NEW, place, name, size, sha256), place, name, size, sha256)


DISCARD = "UPDATE stored_file SET state = 'unused' WHERE id = ANY ($1) AND state = 'new'"


async def discard(db: DB, file_ids: Sequence[int]) -> None:
    """Mark files for removal that were never used. Other files in the list stay as they are."""
    await db.execute(DISCARD, file_ids)


# Longer than the longest outage for which a picture waits in memory until its row can be committed.
MARK_ABANDONED = """
    UPDATE stored_file SET state = 'unused'
     WHERE id = ANY(ARRAY(SELECT id FROM stored_file
                           WHERE state = 'new' AND created_at < now() - interval '7 days'
                           LIMIT $1 FOR UPDATE SKIP LOCKED))
"""


async def mark_abandoned(db: DB) -> None:
    """Mark files for removal whose rows were inserted a week ago or earlier and never used.

    The process that wrote such a file died before it could commit the picture or export.
    """
    await db.execute(MARK_ABANDONED, BATCH)


# Held by a backup from before its snapshot until it has read the last file.
BACKUP_LOCK = (0x626F6F6B, 0x66696C65)  # "book", "file"
HOLD_FOR_BACKUP = "SELECT pg_advisory_lock_shared($1, $2)"


async def hold_for_backup(connection: asyncpg.Connection) -> None:
    """Prevent the removal of files as long as the connection lives."""
    await connection.execute(HOLD_FOR_BACKUP, *BACKUP_LOCK)


BACKUP_RUNS = """
    SELECT EXISTS (SELECT FROM pg_locks
                    WHERE locktype = 'advisory' AND classid = $1::bigint::oid AND objid = $2::bigint::oid
                      AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
UNUSED = f"SELECT {COLUMNS} FROM stored_file f WHERE f.state = 'unused' AND f.id > $1 ORDER BY f.id LIMIT $2"


async def unused(db: DB, after: int) -> list[StoredFile]:
    """The next files to remove: a batch of unused files with ids above `after`. Empty while a backup is being made.

    A backup in progress may still have to read these files. A backup that begins after this check does not need them,
    because they were unused before it began.
    """
    rows = await db.fetch(UNUSED, after, BATCH)
    return [] if not rows or await db.fetchval(BACKUP_RUNS, *BACKUP_LOCK) else [file_of(row) for row in rows]


FORGET = "DELETE FROM stored_file WHERE id = $1 AND state = 'unused'"


async def forget(db: DB, file_id: int) -> None:
    """Delete the row of a file that has been removed from its place."""
    await db.execute(FORGET, file_id)


WAITING = "SELECT count(*) FROM stored_file WHERE state = 'unused'"


async def waiting(db: DB) -> int:
    """How many unused files are still to be removed."""
    count: int = await db.fetchval(WAITING)
    return count


USED = f"""
    SELECT {COLUMNS}, EXISTS (SELECT FROM export_file e WHERE e.file_id = f.id) AS can_be_made_again
      FROM stored_file f WHERE f.state = 'used' AND f.place <> $1 ORDER BY f.id
"""


async def used(db: DB) -> dict[StoredFile, bool]:
    """All files that pictures and exports refer to, except lost ones.

    The value is True for an export, which can be made again if its file is missing.
    """
    return {file_of(row): row["can_be_made_again"] for row in await db.fetch(USED, LOST)}


BOOK_OF = """
    SELECT book_id FROM media WHERE file_id = $1 UNION ALL SELECT book_id FROM export_file WHERE file_id = $1
"""


async def book_of(db: DB, file_id: int) -> int | None:
    """The id of the book that has the file as a picture or an export. None if nothing refers to the file."""
    book_id: int | None = await db.fetchval(BOOK_OF, file_id)
    return book_id


# Compares the digest in the same statement, so that bytes that arrive changed are refused.
PICTURE_INTO_ROW = """
    UPDATE media SET body = $2, file_id = NULL
     WHERE file_id = $1 AND sha256($2) = (SELECT sha256 FROM stored_file WHERE id = $1) RETURNING true
"""
EXPORT_INTO_ROW = """
    UPDATE export_file SET body = $2, file_id = NULL
     WHERE file_id = $1 AND sha256($2) = (SELECT sha256 FROM stored_file WHERE id = $1) RETURNING true
"""


async def into_row(db: DB, file_id: int, content: bytes) -> bool:
    """Store the bytes of a file in the database, in the row of its picture or export.

    Returns False if nothing refers to the file, or if `content` does not have the file's SHA-256.
    """
    for statement in (PICTURE_INTO_ROW, EXPORT_INTO_ROW):
        if await db.fetchval(statement, file_id, content):
            return True
    return False


IS_TABLE = "SELECT to_regclass('stored_file') IS NOT NULL"
RENAME = """
    UPDATE stored_file f SET place = $1, name = n.name
      FROM unnest($2::bigint[], $3::text[]) AS n (id, name) WHERE f.id = n.id
"""
# The other rows refer to files of the original database, which must not be removed from here. A picture without its
# file stays, because covers and chapters refer to it.
LOSE = """
    UPDATE stored_file f SET place = $2
     WHERE id <> ALL ($1) AND EXISTS (SELECT FROM media m WHERE m.file_id = f.id)
"""
FORGET_EXPORTS = "DELETE FROM export_file WHERE file_id <> ALL ($1)"
FORGET_OTHERS = "DELETE FROM stored_file WHERE id <> ALL ($1) AND place <> $2"


async def restored(connection: asyncpg.Connection, place: str, names: Mapping[int, str]) -> None:
    """After a restore, record where the files of the backup are now. `names`: the new name of each file by its id.

    A picture whose file is not in the backup is marked as lost. An export without its file is deleted.
    """
    if await connection.fetchval(IS_TABLE):
        await connection.execute(RENAME, place, list(names), list(names.values()))
        await connection.execute(FORGET_EXPORTS, list(names))
        await connection.execute(LOSE, list(names), LOST)
        await connection.execute(FORGET_OTHERS, list(names), LOST)


SAMPLES = f"""
    SELECT DISTINCT ON (f.place) {COLUMNS}
      FROM stored_file f WHERE f.state = 'used' AND f.place <> $1 ORDER BY f.place, f.id DESC
"""


async def samples(db: DB) -> list[StoredFile]:
    """The newest file of each place, except lost files, to check that each place can be read."""
    return [file_of(row) for row in await db.fetch(SAMPLES, LOST)]
