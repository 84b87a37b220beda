"""Deleting an account: first its subscriptions, then its books, then the account itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from bookgen.accounts.rights import RightsCache
from bookgen.billing.checkout import Payments
from bookgen.store import leaving


@dataclass(frozen=True, slots=True)
class Departure:
    """Deletes accounts, for the API and the operator's command."""

    db: asyncpg.Pool
    payments: Payments
    delete_books: Callable[[int], Awaitable[None]]  # deletes the account's books, and ends their runs and model calls
    rights: RightsCache

    async def delete(self, account_id: int) -> None:
        """Delete the account. After a failure, the call can be repeated.

        Raises Unavailable if the payment processor cannot be reached. In that case the account and its books are
        unchanged.
        """
        # Subscriptions first: if ending them fails, nothing has been deleted, and the caller can try again.
        await self.payments.delete_customer(account_id)
        await self.delete_books(account_id)
        async with self.db.acquire() as connection, connection.transaction():
            await leaving.delete(connection, account_id)
        self.rights.forget(account_id)
