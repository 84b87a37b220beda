"""What the assistant's model calls cost, in the same ledger as those of books and under the same cap of the day."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from bookgen.models import Usage
from bookgen.providers.text import Spent
from bookgen.store import model_calls

STAGE = "support"


class Ledger:
    """`day_cap`: what the whole server may spend a day, in millionths; None for no bound."""

    def __init__(self, db: asyncpg.Pool, price: Callable[[str, Usage], int | None], day_cap: int | None = None) -> None:
        self._db = db
        self._price = price
        self._day_cap = day_cap

    async def has_room(self) -> bool:
        """Whether the day's cap leaves room for another call."""
        if self._day_cap is None:
            return True
        return (await model_calls.spent(self._db, None, None)).day < self._day_cap

    async def charge(self, spent: tuple[Spent, ...]) -> None:
        """Write the calls down that the provider charges."""
        calls = tuple(
            model_calls.PaidCall(each.model, each.usage, self._price(each.model, each.usage)) for each in spent
        )
        if calls:
            await model_calls.charge(self._db, model_calls.Asked(None, None, None, STAGE, None, calls))
