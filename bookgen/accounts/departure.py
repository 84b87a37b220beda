"""Deleting an account with everything in it: its payments, its books, itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from bookgen.accounts.blocking import RightsCache
from bookgen.billing.checkout import Payments
from bookgen.store import leaving


@dataclass(frozen=True, slots=True)
class Departure:
    """The parts needed to delete an account, for the API and the operator's command."""

    db: asyncpg.Pool
    payments: Payments
    delete_books: Callable[[int], Awaitable[None]]  # with their runs and calls in flight
    rights: RightsCache

    async def delete(self, account_id: int) -> None:
        """Delete the account. Can be repeated after a failure."""
        # Payments first: if they cannot be ended, nothing is lost, and the caller can try again.
        await self.payments.forget(account_id)
        await self.delete_books(account_id)
        async with self.db.acquire() as connection, connection.transaction():
            await leaving.delete(connection, account_id)
        self.rights.forget(account_id)
