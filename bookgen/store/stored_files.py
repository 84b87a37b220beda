"""The files outside the database. Each has a row, inserted before the file is written and deleted after its removal.

Triggers maintain the state of the row: inserting a picture or an export marks its file as used, deleting it as unused.
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
    """A file outside the database: its name in a place, its size in bytes and its SHA-256."""

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
    """What a row refers to: the bytes themselves, or a file outside the database."""

    body: bytes | None
    file: StoredFile | None


COLUMNS = "f.id, f.place, f.name, f.size, f.sha256"


def file_of(row: Mapping[str, Any]) -> StoredFile:
    return StoredFile(*(row[name] for name in ("id", "place", "name", "size", "sha256")))


def found(row: Mapping[str, Any] | None) -> FoundFile | None:
    """The result of a query that joins `stored_file f` and selects COLUMNS and `body`."""
    if row is None:
        return None
    return FoundFile(row["body"], None if row["id"] is None else file_of(row))


ANNOUNCE = "INSERT INTO stored_file (place, name, size, sha256) VALUES ($1, $2, $3, $4) RETURNING id"


async def announce(db: DB, place: str, name: str, size: int, sha256: bytes) -> StoredFile:
    """Note a file that is about to be written. No row refers to it yet."""
    return StoredFile(await db.fetchval(ANNOUNCE, place, name, size, sha256), place, name, size, sha256)


DISCARD = "UPDATE stored_file SET state = 'unused' WHERE id = ANY ($1) AND state = 'new'"


async def discard(db: DB, file_ids: Sequence[int]) -> None:
    """Mark files for removal, except those that a row refers to."""
    await db.execute(DISCARD, file_ids)


# Longer than the longest outage for which a picture waits in memory until its row can be committed.
GIVE_UP = """
    UPDATE stored_file SET state = 'unused'
     WHERE id = ANY(ARRAY(SELECT id FROM stored_file
                           WHERE state = 'new' AND created_at < now() - interval '7 days'
                           LIMIT $1 FOR UPDATE SKIP LOCKED))
"""


async def give_up_old(db: DB) -> None:
    """Mark old files for removal that no row refers to, because a process died before it committed the row."""
    await db.execute(GIVE_UP, BATCH)


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
    """Files to remove, with ids above `after`; none while a backup may still read them.

    The files are chosen before the check for a backup. A backup that begins after the check does not need them.
    """
    rows = await db.fetch(UNUSED, after, BATCH)
    return [] if not rows or await db.fetchval(BACKUP_RUNS, *BACKUP_LOCK) else [file_of(row) for row in rows]


FORGET = "DELETE FROM stored_file WHERE id = $1 AND state = 'unused'"


async def forget(db: DB, file_id: int) -> None:
    """Delete the row of a file that was removed."""
    await db.execute(FORGET, file_id)


WAITING = "SELECT count(*) FROM stored_file WHERE state = 'unused'"


async def waiting(db: DB) -> int:
    """How many files have to be removed."""
    count: int = await db.fetchval(WAITING)
    return count


USED = f"""
    SELECT {COLUMNS}, EXISTS (SELECT FROM export_file e WHERE e.file_id = f.id) AS can_be_made_again
      FROM stored_file f WHERE f.state = 'used' AND f.place <> $1 ORDER BY f.id
"""


async def used(db: DB) -> dict[StoredFile, bool]:
    """All files to which rows refer, except lost ones. The value: whether it is an export, which can be made again."""
    return {file_of(row): row["can_be_made_again"] for row in await db.fetch(USED, LOST)}


BOOK_OF = """
    SELECT book_id FROM media WHERE file_id = $1 UNION ALL SELECT book_id FROM export_file WHERE file_id = $1
"""


async def book_of(db: DB, file_id: int) -> int | None:
    """The id of the book whose picture or export the file is. None if no row refers to the file."""
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
    """Move a file's bytes into the row that refers to it. False if no row does, or if `content` has other bytes."""
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
    """Make the rows of restored files refer to their new place. `names`: their new names by the ids of the rows.

    A picture whose file was not restored is marked as lost. Rows of other files that were not restored are deleted.
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
