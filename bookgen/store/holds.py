"""Holds: allowances and credits set aside for runs. When a run completes, its hold becomes a consumption.

A run is the writing of a book. A consumption means that the allowance or credit is used up. A plan's allowance pays for
some books each period, and a credit for one book. If a run ends early, its hold may be kept: for a time, it is then
reserved for another run of the same book.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from bookgen.models import FundingSource, Hold
from bookgen.store.database import DB
from bookgen.store.rows import mapper

_hold = mapper(Hold)

# The words of all calls that were paid for, including words that were lost.
WORDS = "coalesce(sum(words_written + draft_words + words_lost), 0) FROM run"

HOLDS = f"""
    SELECT h.*, l.words_per_book,
           coalesce((SELECT {WORDS} WHERE book_id = h.book_id)::bigint - h.words_before, 0) AS words_written
      FROM hold h LEFT JOIN credit_lot l ON l.id = h.lot_id
"""

FIND_BY_BOOK = f"{HOLDS} WHERE h.book_id = $1"


async def find_by_book(db: DB, book_id: int) -> Hold | None:
    row = await db.fetchrow(FIND_BY_BOOK, book_id)
    return row and _hold(row)


FIND_BY_RUN = f"{HOLDS} WHERE h.run_id = $1"


async def find_by_run(db: DB, run_id: UUID) -> Hold | None:
    row = await db.fetchrow(FIND_BY_RUN, run_id)
    return row and _hold(row)


COUNT_IN_PERIOD = """
    SELECT count(*) FROM hold WHERE account_id = $1 AND source = 'subscription' AND period_start = $2
"""


async def count_in_period(db: DB, account_id: int, period_start: datetime) -> int:
    count: int = await db.fetchval(COUNT_IN_PERIOD, account_id, period_start)
    return count


ADD = f"""
    INSERT INTO hold (account_id, book_id, run_id, source, lot_id, period_start, period_end, words_before)
    VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT {WORDS} WHERE book_id = $2))
    ON CONFLICT (book_id) DO NOTHING
    RETURNING true
"""


async def add(
    connection: DB,
    account_id: int,
    book_id: int,
    run_id: UUID,
    source: FundingSource,
    lot_id: int | None,
    period_start: datetime,
    period_end: datetime,
) -> bool:
    """Set aside an allowance, or a credit of the lot `lot_id`, for the run. Returns False if the book has a hold."""
    values = (account_id, book_id, run_id, source, lot_id, period_start, period_end)
    return bool(await connection.fetchval(ADD, *values))


HAND_TO_RUN = "UPDATE hold SET run_id = $2, kept_until = NULL WHERE id = $1"


async def hand_to_run(connection: DB, hold_id: int, run_id: UUID) -> None:
    await connection.execute(HAND_TO_RUN, hold_id, run_id)


KEEP = "UPDATE hold SET run_id = NULL, kept_until = $2 WHERE id = $1"


async def keep(connection: DB, hold_id: int, until: datetime) -> None:
    """Detach the hold from its run, and reserve it for another run of the same book until the time `until`."""
    await connection.execute(KEEP, hold_id, until)


LEAVE_BOOK = "UPDATE hold SET book_id = NULL WHERE id = $1"


async def leave_book(connection: DB, hold_id: int) -> None:
    """Detach a kept hold from its book, so that the hold pays for no book. It still counts as used until it expires."""
    await connection.execute(LEAVE_BOOK, hold_id)


REMOVE = "DELETE FROM hold WHERE id = $1"


async def remove(connection: DB, hold_id: int) -> None:
    await connection.execute(REMOVE, hold_id)


# The second condition: the book was deleted while a run had the hold.
REMOVE_EXPIRED = """
    DELETE FROM hold
     WHERE account_id = $1
       AND (kept_until <= $2 OR (book_id IS NULL AND kept_until IS NULL AND period_end <= $2))
"""


async def remove_expired(connection: DB, account_id: int, now: datetime) -> None:
    await connection.execute(REMOVE_EXPIRED, account_id, now)


# Either a run of the book has completed, or a hold is set aside for one. A hold kept until before now ($3) has expired.
PAYS_FOR = """
    SELECT EXISTS (SELECT FROM consumption WHERE account_id = $1 AND book_id = $2)
        OR EXISTS (SELECT FROM hold WHERE book_id = $2 AND (kept_until IS NULL OR kept_until > $3))
"""


async def pays_for(db: DB, account_id: int, book_id: int, now: datetime) -> bool:
    """Whether the book is paid for at `now`, or an allowance or a credit is set aside for it.

    A book is paid for once a run of it has completed and thereby consumed an allowance or a credit.
    """
    return bool(await db.fetchval(PAYS_FOR, account_id, book_id, now))


CONSUME = """
    INSERT INTO consumption (run_id, account_id, book_id, source, lot_id, period_start, words)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (run_id) DO NOTHING
    RETURNING true
"""


async def consume(
    connection: DB,
    run_id: UUID,
    account_id: int,
    book_id: int,
    source: FundingSource,
    lot_id: int | None,
    period_start: datetime,
    words: int,
) -> bool:
    """Record that the run has used up an allowance or a credit. Returns False if this was recorded before.

    `lot_id`: the lot of the credit, if the source is a credit. `words`: how many words the run has written.
    """
    return bool(await connection.fetchval(CONSUME, run_id, account_id, book_id, source, lot_id, period_start, words))
