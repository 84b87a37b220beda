"""Jobs: model work on a book outside a run, one row for each book that has such work."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from bookgen.store.database import DB

TAKE = """
    INSERT INTO book_job (book_id, owner, kind) VALUES ($1, $2, $3)
    ON CONFLICT (book_id) DO UPDATE SET owner = EXCLUDED.owner, kind = EXCLUDED.kind, started_at = now()
"""

IN_FLIGHT = """
    SELECT count(*)
      FROM book_job j JOIN book b ON b.id = j.book_id JOIN process p ON p.boot_id = j.owner AND p.lease_until > now()
     WHERE b.account_id = $1 AND j.kind = $2
"""


async def in_flight(db: DB, account_id: int, kind: str) -> int:
    """How many of the account's books living processes are at such work on."""
    return int(await db.fetchval(IN_FLIGHT, account_id, kind))


# Its replies were stored to be paid for; nothing asks for them again.
END = """
    WITH forgotten AS (DELETE FROM step WHERE book_id = $1 AND run_id IS NULL)
    DELETE FROM book_job WHERE book_id = $1 AND owner = $2 RETURNING 1
"""

CALL_OFF = "DELETE FROM book_job WHERE book_id = $1"


async def take(connection: asyncpg.Connection, book_id: int, owner: UUID, kind: str) -> None:
    """Says that model work outside a run has begun. The caller has seen that no living process has such work."""
    await connection.execute(TAKE, book_id, owner, kind)


async def end(db: DB, book_id: int, owner: UUID) -> bool:
    """Whether the job was still this process's."""
    return await db.fetchval(END, book_id, owner) is not None


async def call_off(connection: asyncpg.Connection, book_id: int) -> None:
    """What a process that is thought dead still works on, and may bring once it wakes up, is not wanted any more."""
    await connection.execute(CALL_OFF, book_id)
