"""The slot of an account: at most one of its runs is written at a time, and the others are queued.

A run is the writing of a book.
"""

from __future__ import annotations

import asyncpg

from bookgen.store.database import DB

LOCK = "UPDATE account_slot SET version = version + 1 WHERE account_id = $1"


async def lock(connection: asyncpg.Connection, account_id: int) -> None:
    """Lock the account's slot until the transaction ends.

    Every change of the account's runs or holds takes this lock first.
    """
    await connection.execute(LOCK, account_id)


TRY_LOCK = """
    UPDATE account_slot SET version = version + 1
     WHERE account_id = (SELECT account_id FROM account_slot WHERE account_id = $1 FOR UPDATE SKIP LOCKED)
    RETURNING true
"""


async def try_lock(connection: asyncpg.Connection, account_id: int) -> bool:
    """Lock the account's slot unless another transaction has locked it. Returns whether it is locked."""
    return bool(await connection.fetchval(TRY_LOCK, account_id))


def holds_slot(statuses: str, seconds: str) -> str:
    """The SQL condition that run `r` takes up its account's slot, so that no other run of the account may start.

    `statuses`: a list of SQL strings, the statuses in which a run always takes up the slot. A queued or paused run also
    takes it up while a model call is in flight, but at most `seconds` (an SQL parameter) after the run's last update.
    """
    return f"""
    r.status IN ('queued', 'running', 'paused')
    AND (r.status IN ({statuses})
         OR r.call_started_at IS NOT NULL AND r.updated_at > now() - {seconds} * interval '1 second')
"""


# EXCEPT reads each run once, whatever the statistics say. A join could be planned as a nested loop over all runs.
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
    """The ids of up to a hundred accounts whose slot is free although a run is queued.

    `call_seconds`: for how long a paused or queued run with a model call in flight takes up the slot (`seconds` of
    `holds_slot`).
    """
    return [row["account_id"] for row in await db.fetch(ACCOUNTS_WITH_A_FREE_SLOT, float(call_seconds))]


BOOKS_WITH_A_RUN = """
    SELECT book_id FROM run WHERE account_id = $1 AND status IN ('queued', 'running', 'paused') ORDER BY queue_seq
"""


async def books_with_a_run(db: DB, account_id: int) -> list[int]:
    """The ids of the account's books with an active run."""
    return [row["book_id"] for row in await db.fetch(BOOKS_WITH_A_RUN, account_id)]
