"""Credits: wallets, lots (the credits of one purchase or grant) and the ledger.

The database enforces that a wallet's balance is the sum of its ledger.
Callers that change anything here hold `subscriptions.lock`.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from bookgen.models import CreditKind, CreditLot, CreditPackage, CreditTransaction, Wallet
from bookgen.store.database import DB
from bookgen.store.rows import columns, field_names, mapper

transaction_of = mapper(CreditTransaction)

PACKAGES = f"SELECT {columns(field_names(CreditPackage))} FROM credit_package WHERE is_active"

LIST_PACKAGES = f"{PACKAGES} ORDER BY display_order, id"


async def list_packages(db: DB) -> list[CreditPackage]:
    return [CreditPackage(**row) for row in await db.fetch(LIST_PACKAGES)]


FIND_PACKAGE = f"{PACKAGES} AND slug = $1"


async def find_package(db: DB, slug: str) -> CreditPackage | None:
    row = await db.fetchrow(FIND_PACKAGE, slug)
    return row and CreditPackage(**row)


MAKE_WALLET = "INSERT INTO wallet (account_id) VALUES ($1) ON CONFLICT (account_id) DO NOTHING"

WALLET = """
    SELECT w.id, w.balance, w.created_at, w.updated_at,
           coalesce(sum(t.amount) FILTER (WHERE t.kind = 'purchase'), 0)::int AS total_purchased,
           coalesce(-sum(t.amount) FILTER (WHERE t.kind = 'book_spend'), 0)::int AS total_used
      FROM wallet w
      LEFT JOIN credit_transaction t ON t.account_id = w.account_id
     WHERE w.account_id = $1
     GROUP BY w.id
"""


async def wallet(db: DB, account_id: int) -> Wallet:
    """The account's wallet, created on first use."""
    row = await db.fetchrow(WALLET, account_id)
    if row is None:
        await db.execute(MAKE_WALLET, account_id)
        row = await db.fetchrow(WALLET, account_id)
    return Wallet(**row)


BALANCE = "SELECT coalesce((SELECT balance FROM wallet WHERE account_id = $1), 0)"


async def balance(db: DB, account_id: int) -> int:
    found: int = await db.fetchval(BALANCE, account_id)
    return found


TRANSACTIONS = """
    SELECT id, kind, amount, balance_after, description, book_id, created_at
      FROM credit_transaction
     WHERE account_id = $1
     ORDER BY id DESC
     LIMIT $2
"""


async def transactions(db: DB, account_id: int, limit: int) -> list[CreditTransaction]:
    return [transaction_of(row) for row in await db.fetch(TRANSACTIONS, account_id, limit)]


# Oldest first; $2 is now.
LOTS = """
    SELECT l.id, l.remaining, l.words_per_book, l.refund_due, l.taken_back,
           (SELECT count(*) FROM hold h
             WHERE h.lot_id = l.id AND (h.kept_until IS NULL OR h.kept_until > $2)) AS held
      FROM credit_lot l
     WHERE l.account_id = $1 AND l.remaining > 0
     ORDER BY l.id
"""


async def lots(db: DB, account_id: int, now: datetime) -> list[CreditLot]:
    """The lots with credits left, oldest first."""
    return [CreditLot(**row) for row in await db.fetch(LOTS, account_id, now)]


ADD_LOT = """
    INSERT INTO credit_lot (account_id, checkout_id, credits, remaining, words_per_book)
    VALUES ($1, $2, $3, $3, $4)
    ON CONFLICT (checkout_id) DO NOTHING
    RETURNING id
"""


async def add_lot(
    connection: DB, account_id: int, checkout_id: int | None, credits: int, words_per_book: int
) -> int | None:
    """Add a lot of credits and return its id. None if this checkout (the purchase) already has a lot.

    `words_per_book`: the length of the longest book, in words, that one of these credits pays for.
    """
    await connection.execute(MAKE_WALLET, account_id)
    lot_id: int | None = await connection.fetchval(ADD_LOT, account_id, checkout_id, credits, words_per_book)
    return lot_id


DRAW_FROM_LOT = "UPDATE credit_lot SET remaining = remaining - $2, taken_back = taken_back + $3 WHERE id = $1"


async def draw_from_lot(connection: DB, lot_id: int, *, credits: int, taken_back: int = 0) -> None:
    await connection.execute(DRAW_FROM_LOT, lot_id, credits, taken_back)


# Credits that were taken back for a refund, but are no longer due, return to the lot.
SET_REFUND_DUE = """
    UPDATE credit_lot l
       SET refund_due = before.due, taken_back = l.taken_back - before.returned,
           remaining = l.remaining + before.returned
      FROM (SELECT id, least($2, credits) AS due, greatest(taken_back - least($2, credits), 0) AS returned
              FROM credit_lot WHERE checkout_id = $1) AS before
     WHERE l.id = before.id AND l.refund_due <> before.due
    RETURNING l.id, before.returned
"""


async def set_refund_due(connection: DB, checkout_id: int, credits: int) -> list[tuple[int, int]]:
    """Set how many credits of a purchase have been refunded in total. The account must return this number of credits.

    If more than `credits` were already taken back, the surplus returns to the lot of the purchase. The result is then a
    list with one pair, the id of the lot and the size of the surplus; otherwise an empty list.
    """
    rows = await connection.fetch(SET_REFUND_DUE, checkout_id, credits)
    return [(row["id"], row["returned"]) for row in rows if row["returned"]]


# One statement changes the balance and writes the ledger row that explains it.
BOOK_IN_LEDGER = """
    WITH moved AS (
        UPDATE wallet SET balance = balance + $4, updated_at = now() WHERE account_id = $1 RETURNING balance)
    INSERT INTO credit_transaction (account_id, lot_id, kind, amount, balance_after, description, book_id, run_id)
    SELECT $1, $2, $3, $4, moved.balance, $5, $6, $7 FROM moved
"""


async def book_in_ledger(
    connection: DB,
    account_id: int,
    lot_id: int,
    kind: CreditKind,
    amount: int,
    description: str,
    *,
    book_id: int | None = None,
    run_id: UUID | None = None,
) -> None:
    await connection.execute(BOOK_IN_LEDGER, account_id, lot_id, kind, amount, description, book_id, run_id)
