"""A cache of exported files, keyed by the digest of their source, and a count of downloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookgen.store import stored_files
from bookgen.store.stored_files import FoundFile, NewFile

if TYPE_CHECKING:
    from bookgen.store.database import DB

BATCH = 500


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """How many exported files are kept per book, and how many bytes per account. The newest file is always kept."""

    files_per_book: int = 8
    bytes_per_account: int = 256_000_000


FIND = f"""
    SELECT e.body, {stored_files.COLUMNS}
      FROM export_file e LEFT JOIN stored_file f ON f.id = e.file_id
     WHERE e.book_id = $1 AND e.digest = $2
"""


async def find(db: DB, book_id: int, digest: str) -> FoundFile | None:
    """The cached file, or None. The caller has checked the book's owner."""
    return stored_files.found(await db.fetchrow(FIND, book_id, digest))


# The book may be gone by the time its file is ready.
KEEP = """
    INSERT INTO export_file (book_id, digest, kind, body, file_id)
    SELECT id, $2, $3, $4, $5 FROM book WHERE id = $1
    ON CONFLICT (book_id, digest) DO NOTHING
    RETURNING true
"""

# octet_length reads only the header of a stored value, so no file is loaded.
FORGET_OLD = """
    DELETE FROM export_file e
     USING (SELECT f.book_id, f.digest,
                   row_number() OVER (PARTITION BY f.book_id ORDER BY f.created_at DESC, f.digest) AS place,
                   row_number() OVER (ORDER BY f.created_at DESC, f.digest) AS place_of_all,
                   sum(coalesce(octet_length(f.body), o.size)) OVER (ORDER BY f.created_at DESC, f.digest) AS bytes
              FROM export_file f
              JOIN book b ON b.id = f.book_id
              LEFT JOIN stored_file o ON o.id = f.file_id
             WHERE b.account_id = (SELECT account_id FROM book WHERE id = $1)) AS kept
     WHERE e.book_id = kept.book_id AND e.digest = kept.digest
       AND (kept.place > $2 OR (kept.place_of_all > 1 AND kept.bytes > $3))
"""


async def keep(db: DB, book_id: int, digest: str, kind: str, new: NewFile, limits: ExportLimits) -> bool:
    """Cache the file, and delete the oldest files beyond the limits. Returns whether the file was cached.

    It is not cached if the book is gone, or if the cache has the same file already.
    """
    kept = bool(await db.fetchval(KEEP, book_id, digest, kind, new.body, new.file_id))
    await db.execute(FORGET_OLD, book_id, limits.files_per_book, limits.bytes_per_account)
    return kept


FORGET = "DELETE FROM export_file WHERE book_id = $1 AND digest = $2"


async def forget(db: DB, book_id: int, digest: str) -> None:
    await db.execute(FORGET, book_id, digest)


FORGET_BEFORE = """
    DELETE FROM export_file
     WHERE (book_id, digest) IN (SELECT book_id, digest FROM export_file
                                  WHERE created_at < now() - $1 * interval '1 second'
                                  ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


async def forget_older(db: DB, seconds: float) -> int:
    """Delete one batch of files that are older than `seconds`. Returns how many were deleted."""
    status: str = await db.execute(FORGET_BEFORE, seconds, BATCH)
    return int(status.split()[-1])


COUNT = """
    INSERT INTO export_count AS e (account_id, kind, exports) VALUES ($1, $2, 1)
    ON CONFLICT (account_id, kind) DO UPDATE SET exports = e.exports + 1
"""


async def count(db: DB, account_id: int, kind: str) -> None:
    await db.execute(COUNT, account_id, kind)


TOTAL = "SELECT coalesce(sum(exports), 0)::bigint FROM export_count WHERE account_id = $1"


async def total(db: DB, account_id: int) -> int:
    """How many files the account has exported in total."""
    exports: int = await db.fetchval(TOTAL, account_id)
    return exports
