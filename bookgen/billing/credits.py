"""Credits, which pay for books. They are granted in lots: one lot per purchase or grant.

A credit is reserved for a run (the writing of a book) until the run ends. Credits are taken back if their purchase is
refunded. Each function changes lot, balance and ledger together, in the caller's transaction and under the lock
`subscriptions.lock`.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from bookgen.models import CreditKind, PaidCredits
from bookgen.store import credits, holds
from bookgen.store.database import DB


async def grant(
    connection: DB,
    account_id: int,
    amount: int,
    words_per_book: int,
    kind: CreditKind,
    description: str,
    checkout_id: int | None = None,
) -> None:
    """Add a lot of `amount` credits. Does nothing if the credits of the checkout `checkout_id` were granted before.

    Each credit pays for a book of up to `words_per_book` words.
    """
    lot_id = await credits.add_lot(connection, account_id, checkout_id, amount, words_per_book)
    if lot_id is not None:
        await credits.book_in_ledger(connection, account_id, lot_id, kind, amount, description)


async def grant_purchase(connection: DB, account_id: int, purchase: PaidCredits) -> None:
    """Grant the credits of a paid purchase, and store how many of them have been refunded by now.

    If this is called again for the same purchase, it grants no more credits. If the number of refunded credits is lower
    than at the last call, because a refund failed or a dispute was won, the account gets the difference back.
    """
    bought = purchase.credits
    said = "1 credit bought" if bought == 1 else f"{bought} credits bought"
    await grant(connection, account_id, bought, purchase.words_per_book, CreditKind.PURCHASE, said, purchase.id)
    for lot_id, returned in await credits.set_refund_due(connection, purchase.id, purchase.refunded_credits):
        await credits.book_in_ledger(
            connection, account_id, lot_id, CreditKind.REFUND, returned, "The refund was reversed"
        )


async def spend(connection: DB, account_id: int, lot_id: int, book_id: int, run_id: UUID) -> None:
    await credits.draw_from_lot(connection, lot_id, credits=1)
    await credits.book_in_ledger(
        connection, account_id, lot_id, CreditKind.BOOK_SPEND, -1, "A book was written", book_id=book_id, run_id=run_id
    )


async def settle(connection: DB, account_id: int, now: datetime) -> None:
    """Delete the account's expired reservations, then take back refunded credits that are not reserved for a run."""
    await holds.remove_expired(connection, account_id, now)
    for lot in await credits.lots(connection, account_id, now):
        back = min(lot.refund_due - lot.taken_back, lot.remaining - lot.held)
        if back > 0:
            await credits.draw_from_lot(connection, lot.id, credits=back, taken_back=back)
            await credits.book_in_ledger(
                connection, account_id, lot.id, CreditKind.REFUND, -back, "The purchase was refunded"
            )
