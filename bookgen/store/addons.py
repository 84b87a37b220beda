"""Add-ons: the ones for sale, the ones that an account owns, and how often each was used.

An add-on is bought as a monthly subscription, or as single uses. A run (the writing of a book) reserves a use when it
starts, and spends the use when it completes. If the run ends early, the use may be kept for the book's next run.
"""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from uuid import UUID

from bookgen.models import Addon, OwnedAddon, SubscriptionStatus
from bookgen.store.database import DB
from bookgen.store.rows import columns, field_names, mapper

COLUMNS = columns(field_names(Addon), "a")

addon_of = mapper(Addon)

_owned = mapper(OwnedAddon, id=itemgetter("owned_id"), addon=addon_of)

LIST_ACTIVE = f"SELECT {COLUMNS} FROM addon a WHERE a.is_active ORDER BY a.sort_order, a.id"


async def list_active(db: DB) -> list[Addon]:
    return [addon_of(row) for row in await db.fetch(LIST_ACTIVE)]


FIND = f"SELECT {COLUMNS} FROM addon a WHERE a.slug = $1"


async def find(db: DB, slug: str) -> Addon | None:
    row = await db.fetchrow(FIND, slug)
    return row and addon_of(row)


# A purchase of a single use that has not been refunded.
BOUGHT = """c.account_id = o.account_id AND c.kind = 'addon' AND c.slug = a.slug AND c.billing = 'per_use'
               AND c.status = 'paid'"""

# The uses bought are counted from the paid checkouts, so there is no second counter to keep in step. A refunded
# purchase does not count, nor does the use made of it; otherwise that use would be charged to the next purchase.
# $2 and $3 are the bounds of the period for which uses are shown. $4 is now: a use kept for a book is free again after
# `kept_until`.
OWNED = f"""
    SELECT o.id AS owned_id, o.billing_type, o.status, o.processor_id, o.current_period_end, o.past_due_since,
           {COLUMNS},
           (SELECT count(*) FROM checkout c WHERE {BOUGHT}) AS bought,
           (SELECT count(*) FROM addon_use u LEFT JOIN checkout c ON c.id = u.checkout_id
             WHERE u.account_addon_id = o.id AND (u.kept_until IS NULL OR u.kept_until > $4)
               AND (c.id IS NULL OR c.status = 'paid')) AS taken,
           (SELECT count(*) FROM addon_use u
             WHERE u.account_addon_id = o.id AND u.used_at >= $2 AND u.used_at < $3) AS used_this_period
      FROM account_addon o
      JOIN addon a ON a.id = o.addon_id
     WHERE o.account_id = $1
     ORDER BY a.sort_order, o.billing_type <> 'monthly'
"""


async def owned(
    db: DB, account_id: int, period_start: datetime, period_end: datetime, now: datetime
) -> list[OwnedAddon]:
    """The account's add-ons. An add-on owned both monthly and as single uses has two entries, the monthly entry first.

    In each entry, `taken` counts the uses that are spent, reserved by a run, or still kept for a book at `now`.
    `used_this_period` counts the uses made between `period_start` and `period_end`.
    """
    return [_owned(row) for row in await db.fetch(OWNED, account_id, period_start, period_end, now)]


OWN_BY_USE = """
    INSERT INTO account_addon (account_id, addon_id, billing_type)
    SELECT $1, id, 'per_use' FROM addon WHERE slug = $2
    ON CONFLICT (account_id, addon_id, billing_type) DO NOTHING
"""


async def own_by_use(connection: DB, account_id: int, slug: str) -> None:
    await connection.execute(OWN_BY_USE, account_id, slug)


OWN_BY_MONTH = """
    INSERT INTO account_addon AS o
           (account_id, addon_id, billing_type, status, processor_id, current_period_end, past_due_since)
    SELECT $1, id, 'monthly', $3, $4, $5, $6 FROM addon WHERE slug = $2
    ON CONFLICT (account_id, addon_id, billing_type)
    DO UPDATE SET status = $3, processor_id = $4, current_period_end = $5, past_due_since = $6
"""


async def own_by_month(
    connection: DB,
    account_id: int,
    slug: str,
    status: SubscriptionStatus,
    processor_id: str,
    period_end: datetime,
    past_due_since: datetime | None,
) -> None:
    await connection.execute(OWN_BY_MONTH, account_id, slug, status, processor_id, period_end, past_due_since)


CANCEL = "UPDATE account_addon SET status = 'canceled' WHERE account_id = $1 AND billing_type = 'monthly'"


async def cancel(connection: DB, account_id: int) -> None:
    """Mark the account's monthly add-ons as canceled. The period already paid for remains usable."""
    await connection.execute(CANCEL, account_id)


# If an earlier run left the book unfinished, the use that it held is still there, unless it was refunded.
TAKE_OVER_USE = """
    UPDATE addon_use AS u SET run_id = $1, kept_until = NULL
      FROM account_addon o JOIN addon a ON a.id = o.addon_id
     WHERE o.id = u.account_addon_id AND o.account_id = $2 AND a.slug = $3 AND u.used_at IS NULL
       AND (u.run_id = $1 AND u.kept_until IS NULL
            OR u.book_id = $4 AND u.kept_until > $5
               AND NOT EXISTS (SELECT FROM checkout c WHERE c.id = u.checkout_id AND c.status <> 'paid'))
    RETURNING true
"""

FORGET_KEPT_USES = """
    DELETE FROM addon_use AS u USING account_addon o
     WHERE o.id = u.account_addon_id AND o.account_id = $1 AND u.kept_until <= $2
"""


async def take_over_use(connection: DB, run_id: UUID, account_id: int, slug: str, book_id: int, now: datetime) -> bool:
    """Give the run the add-on use that was kept for its book. Returns whether the run has a use now.

    A run that already has a use keeps that use. Kept uses that expired before `now` are returned to the account.
    """
    await connection.execute(FORGET_KEPT_USES, account_id, now)
    return bool(await connection.fetchval(TAKE_OVER_USE, run_id, account_id, slug, book_id, now))


# A single use is charged to the oldest purchase that is not used yet.
HOLD_USE = f"""
    INSERT INTO addon_use (run_id, account_addon_id, book_id, checkout_id)
    SELECT $1, o.id, $3,
           (SELECT c.id FROM checkout c
             WHERE {BOUGHT} AND o.billing_type = 'per_use'
               AND NOT EXISTS (SELECT FROM addon_use u WHERE u.checkout_id = c.id)
             ORDER BY c.id LIMIT 1)
      FROM account_addon o
      JOIN addon a ON a.id = o.addon_id
     WHERE o.id = $2
"""


async def hold_use(connection: DB, run_id: UUID, owned_id: int, book_id: int) -> None:
    await connection.execute(HOLD_USE, run_id, owned_id, book_id)


COUNT_USE = "UPDATE addon_use SET used_at = $2, kept_until = NULL WHERE run_id = $1 AND used_at IS NULL"


async def count_use(connection: DB, run_id: UUID, now: datetime) -> None:
    await connection.execute(COUNT_USE, run_id, now)


# `paid_for` says that model calls were paid for under this use. It stays set, whichever run of the book takes the use.
KEEP_USE = """
    UPDATE addon_use AS u SET kept_until = $2, paid_for = true
     WHERE u.run_id = $1 AND u.used_at IS NULL
       AND (u.paid_for
            OR EXISTS (SELECT FROM run r
                        WHERE r.id = $1
                          AND (r.written > 0
                               OR EXISTS (SELECT FROM model_call c
                                           WHERE c.run_id = r.id AND c.cost_micros IS DISTINCT FROM 0))))
"""

RELEASE_USE = "DELETE FROM addon_use WHERE run_id = $1 AND used_at IS NULL AND kept_until IS NULL"


async def release_use(connection: DB, run_id: UUID, kept_until: datetime) -> None:
    """Give up the add-on use that the run has reserved. The account can then use it for any book.

    If chapters were written or model calls paid for under this use, it stays reserved for other runs of the same book
    until `kept_until`.
    """
    await connection.execute(KEEP_USE, run_id, kept_until)
    await connection.execute(RELEASE_USE, run_id)
