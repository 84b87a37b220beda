"""Accepting a run in two statements: one reads what the decision needs, one writes it if nothing moved meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bookgen.models import Run, SubscriptionStatus
from bookgen.store.database import DB
from bookgen.store.runs import OCCUPIES_SLOT, run_of


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a plan: -1 books are unlimited."""

    books_per_month: int
    max_word_count_per_book: int


@dataclass(frozen=True, slots=True)
class SubscribedPlan:
    """The plan that an account is subscribed to, and what tells whether it is entitled to it now."""

    limits: Limits
    status: SubscriptionStatus
    anchor: datetime
    current_period_end: datetime | None
    past_due_since: datetime | None


@dataclass(frozen=True, slots=True)
class PlanFunds:
    """What tells whether a plan's allowance pays for a book.

    `standard` is of the plan that an account without an entitlement is on. `used` and `held` count books of the
    plan by the start of their period.
    """

    signed_up_at: datetime
    standard: Limits
    subscribed: SubscribedPlan
    used: Mapping[datetime, int]
    held: Mapping[datetime, int]


@dataclass(frozen=True, slots=True)
class Acceptable:
    """A book that never had a run, and its account's funds, as they were when the slot had `version`.

    `target_word_count` is that of the book, or of its chapters together where they are given more. `slot_free`: no run
    of the account is running, waiting or finishing a call.
    """

    target_word_count: int
    chapters: int
    written: int
    slot_free: bool
    version: int
    funds: PlanFunds


READ = f"""
    SELECT greatest(b.target_word_count, k.budgets) AS target_word_count, k.chapters, k.written, slot.version,
           NOT EXISTS (SELECT FROM run r WHERE r.account_id = $2 AND {OCCUPIES_SLOT}) AS slot_free,
           a.created_at AS signed_up_at, s.status, s.anchor, s.current_period_end, s.past_due_since,
           (p.features -> 'books_per_month')::int AS books, (p.features -> 'max_word_count_per_book')::int AS words,
           (standard.features -> 'books_per_month')::int AS standard_books,
           (standard.features -> 'max_word_count_per_book')::int AS standard_words,
           ARRAY(SELECT period_start FROM usage_period WHERE account_id = $2 ORDER BY period_start) AS used_in,
           ARRAY(SELECT books_created FROM usage_period WHERE account_id = $2 ORDER BY period_start) AS used,
           ARRAY(SELECT period_start FROM hold WHERE account_id = $2 AND source = 'subscription') AS held_in
      FROM book b
      JOIN account a ON a.id = b.account_id
      JOIN account_slot slot ON slot.account_id = b.account_id
      JOIN subscription s ON s.account_id = b.account_id
      JOIN plan p ON p.id = s.plan_id
      JOIN plan standard ON standard.slug = $4
     CROSS JOIN LATERAL (
           SELECT count(*) AS chapters, count(*) FILTER (WHERE content <> '') AS written,
                  sum(target_word_count) AS budgets
             FROM chapter WHERE book_id = $1) AS k
     WHERE b.id = $1 AND b.account_id = $2
       AND NOT EXISTS (SELECT FROM run WHERE book_id = $1)
       AND NOT EXISTS (SELECT FROM hold WHERE book_id = $1)
       AND NOT EXISTS (SELECT FROM book_job WHERE book_id = $1)
"""


async def read(db: DB, account_id: int, book_id: int, call_seconds: float, standard_plan: str) -> Acceptable | None:
    """None when the book is not the account's, or something has been done with it already but its outline."""
    row = await db.fetchrow(READ, book_id, account_id, float(call_seconds), standard_plan)
    if row is None:
        return None
    subscribed = SubscribedPlan(
        limits=Limits(row["books"], row["words"]),
        status=SubscriptionStatus(row["status"]),
        anchor=row["anchor"],
        current_period_end=row["current_period_end"],
        past_due_since=row["past_due_since"],
    )
    funds = PlanFunds(
        signed_up_at=row["signed_up_at"],
        standard=Limits(row["standard_books"], row["standard_words"]),
        subscribed=subscribed,
        used=dict(zip(row["used_in"], row["used"], strict=True)),
        held=Counter(row["held_in"]),
    )
    return Acceptable(
        row["target_word_count"], row["chapters"], row["written"], row["slot_free"], row["version"], funds
    )


# A run that may start at once has its first chapter announced here. Chapters are locked before their book.
ACCEPT = """
    WITH slot AS (
        UPDATE account_slot SET version = version + 1 WHERE account_id = $3 AND version = $1 RETURNING account_id
    ), next AS (
        SELECT id, chapter_number FROM chapter
         WHERE book_id = $4 AND content = '' AND $5 = 'running'
         ORDER BY chapter_number LIMIT 1
    ), accepted AS (
        INSERT INTO run (id, account_id, book_id, status, mode, total, done, epoch, owner, last_op, call_no,
                         current_chapter, call_started_at)
        SELECT $2, slot.account_id, $4, $5, $6, $7, $8, $9, $10, $11, (next.id IS NOT NULL)::int,
               next.chapter_number, CASE WHEN next.id IS NOT NULL THEN now() END
          FROM slot LEFT JOIN next ON true
        RETURNING *
    ), held AS (
        INSERT INTO hold (account_id, book_id, run_id, source, period_start, period_end)
        SELECT account_id, book_id, id, 'subscription', $12, $13 FROM accepted
    ), marked AS (
        UPDATE chapter SET status = 'writing' FROM next, accepted WHERE chapter.id = next.id
        RETURNING chapter.id
    ), taken AS (
        UPDATE book SET status = 'generating', funding_source = 'subscription', updated_at = now()
          FROM accepted LEFT JOIN marked ON true WHERE book.id = accepted.book_id
    )
    SELECT * FROM accepted
"""


async def accept(db: DB, version: int, run: Run, period_start: datetime, period_end: datetime) -> Run | None:
    """Stores an accepted run with its hold on the plan's allowance of a period.

    None: the slot has moved on from `version`, so nothing is stored.
    """
    row = await db.fetchrow(
        ACCEPT, version, run.id, run.account_id, run.book_id, run.status, run.mode, run.total, run.done, run.epoch,
        run.owner, run.last_op, period_start, period_end,
    )  # fmt: skip
    return row and run_of(row)
