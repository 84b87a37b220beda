"""An account's usage counters, by billing period."""

from __future__ import annotations

from datetime import datetime

from bookgen.models import Allowance, UsagePeriod
from bookgen.store.database import DB
from bookgen.store.rows import columns, field_names

PERIODS = f"SELECT {columns(field_names(UsagePeriod))} FROM usage_period WHERE account_id = $1"

FIND = f"{PERIODS} AND period_start = $2"


async def find(db: DB, account_id: int, start: datetime, end: datetime) -> UsagePeriod:
    """The period's counters, all zero if nothing was used."""
    row = await db.fetchrow(FIND, account_id, start)
    return UsagePeriod(**row) if row else UsagePeriod(start, end)


OTHERS = f"{PERIODS} AND period_start <> $2 ORDER BY period_start DESC LIMIT $3"


async def others(db: DB, account_id: int, current: datetime, limit: int) -> list[UsagePeriod]:
    """Up to `limit` usage periods of the account, newest first, without the period that starts at `current`.

    After a change of plan, some of these periods may overlap with the current one.
    """
    return [UsagePeriod(**row) for row in await db.fetch(OTHERS, account_id, current, limit)]


COUNT = """
    INSERT INTO usage_period AS u (account_id, period_start, period_end, books_created, words_generated)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (account_id, period_start)
    DO UPDATE SET books_created = u.books_created + $4, words_generated = u.words_generated + $5
"""


async def count(db: DB, account_id: int, start: datetime, end: datetime, *, books: int = 0, words: int = 0) -> None:
    """Add to the period's counts of books and words."""
    await db.execute(COUNT, account_id, start, end, books, words)


def _spending(counter: str) -> str:
    """SQL that adds $5 to `counter` unless that exceeds the limit $4 (-1: no limit).

    The SQL is one statement, so two callers never both take the last unit.
    """
    return f"""
    INSERT INTO usage_period AS u (account_id, period_start, period_end, {counter})
    SELECT $1, $2, $3, $5 WHERE $4 = -1 OR $5 <= $4
    ON CONFLICT (account_id, period_start) DO UPDATE SET {counter} = u.{counter} + $5
     WHERE $4 = -1 OR u.{counter} + $5 <= $4
    RETURNING true
"""


SPEND_IMAGES = _spending("ai_images_generated")

SPEND_EDITS = _spending("ai_edits_used")

SPEND_CHECKS = _spending("proofreading_checks_used")

SPEND = {
    Allowance.AI_IMAGES: SPEND_IMAGES,
    Allowance.AI_EDITS: SPEND_EDITS,
    Allowance.PROOFREADING_CHECKS: SPEND_CHECKS,
}


async def spend(
    db: DB, account_id: int, start: datetime, end: datetime, allowance: Allowance, limit: int, amount: int
) -> bool:
    """Spend `amount` of the allowance. Returns False, and spends nothing, if that would exceed the limit."""
    return bool(await db.fetchval(SPEND[allowance], account_id, start, end, limit, amount))


SPEND_UNPAID_WORDS = _spending("unpaid_words")


async def spend_unpaid_words(db: DB, account_id: int, start: datetime, end: datetime, limit: int, words: int) -> bool:
    """Count words that AI edits have rewritten in a book that neither the plan nor a credit pays for.

    Returns False, and counts nothing, if the period's count would exceed `limit`.
    """
    return bool(await db.fetchval(SPEND_UNPAID_WORDS, account_id, start, end, limit, words))


UNPAID_WORDS = "SELECT unpaid_words FROM usage_period WHERE account_id = $1 AND period_start = $2"


async def unpaid_words(db: DB, account_id: int, start: datetime) -> int:
    """How many words AI edits have rewritten in the period, in books that neither the plan nor a credit paid for."""
    return int(await db.fetchval(UNPAID_WORDS, account_id, start) or 0)


SPEND_FAILED_JOBS = _spending("failed_jobs")


async def spend_failed_job(db: DB, account_id: int, start: datetime, end: datetime, limit: int) -> bool:
    """Count one more failed job as free. Returns False, and counts nothing, if `limit` failed jobs were free before."""
    return bool(await db.fetchval(SPEND_FAILED_JOBS, account_id, start, end, limit, 1))


FREE_OUTLINES = "SELECT free_outlines FROM usage_period WHERE account_id = $1 AND period_start = $2"


async def free_outlines(db: DB, account_id: int, start: datetime) -> int:
    """How many outlines in the period were free: they cost no AI edit."""
    return int(await db.fetchval(FREE_OUTLINES, account_id, start) or 0)


COUNT_FREE_OUTLINE = """
    INSERT INTO usage_period AS u (account_id, period_start, period_end, free_outlines) VALUES ($1, $2, $3, 1)
    ON CONFLICT (account_id, period_start) DO UPDATE SET free_outlines = u.free_outlines + 1
"""


async def count_free_outline(db: DB, account_id: int, start: datetime, end: datetime) -> None:
    await db.execute(COUNT_FREE_OUTLINE, account_id, start, end)
