"""The slot of an account: the one place in which one of its runs is written at a time."""

from __future__ import annotations

import asyncpg

from bookgen.store.database import DB

LOCK = "UPDATE account_slot SET version = version + 1 WHERE account_id = $1"


async def lock(connection: asyncpg.Connection, account_id: int) -> None:
    """Puts everything that moves this account's runs or holds in one order, until the transaction ends."""
    await connection.execute(LOCK, account_id)


TRY_LOCK = """
    UPDATE account_slot SET version = version + 1
     WHERE account_id = (SELECT account_id FROM account_slot WHERE account_id = $1 FOR UPDATE SKIP LOCKED)
    RETURNING true
"""


async def try_lock(connection: asyncpg.Connection, account_id: int) -> bool:
    """Locks the account's slot unless another transaction has; tells whether it did."""
    return bool(await connection.fetchval(TRY_LOCK, account_id))


def holds_slot(statuses: str, seconds: str) -> str:
    """The SQL condition that run `r` keeps others of its account from starting.

    It does in `statuses`, SQL strings, and for `seconds`, a parameter, while its call in flight may still end.
    """
    return f"""
    r.status IN ('queued', 'running', 'paused')
    AND (r.status IN ({statuses})
         OR r.call_started_at IS NOT NULL AND r.updated_at > now() - {seconds} * interval '1 second')
"""


# EXCEPT reads each run once whatever the statistics say; a join may be planned as a comparison of all with all.
ACCOUNTS_WITH_A_FREE_SLOT = """
    SELECT account_id FROM run WHERE status = 'queued'
    EXCEPT
    SELECT account_id FROM run
     WHERE status = 'running'
        OR status IN ('queued', 'paused') AND call_started_at IS NOT NULL
           AND updated_at > now() - $1 * interval '1 second'
     LIMIT 100
"""


async def accounts_with_a_free_slot(db: DB, call_seconds: float) -> list[int]:
    """Accounts whose slot is free although a run waits for it, a hundred at most."""
    return [row["account_id"] for row in await db.fetch(ACCOUNTS_WITH_A_FREE_SLOT, float(call_seconds))]


BOOKS_WITH_A_RUN = """
    SELECT book_id FROM run WHERE account_id = $1 AND status IN ('queued', 'running', 'paused') ORDER BY queue_seq
"""


async def books_with_a_run(db: DB, account_id: int) -> list[int]:
    """The account's books whose run is active."""
    return [row["book_id"] for row in await db.fetch(BOOKS_WITH_A_RUN, account_id)]
