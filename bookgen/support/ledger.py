"""What the assistant's model calls cost, in the same ledger as those of books and under the same cap of the day."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from bookgen.billing.cost_caps import CostBudget, CostCaps, Purpose
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

    @property
    def budget(self) -> CostBudget | None:
        """What an answer may cost; None for no bound."""
        if self._day_cap is None:
            return None
        return CostBudget(self._db, CostCaps(day=self._day_cap), self._price, Purpose(STAGE))

    async def charge(self, spent: tuple[Spent, ...]) -> None:
        """Write the calls down that the provider charges."""
        calls = tuple(
            model_calls.PaidCall(each.model, each.usage, self._price(each.model, each.usage), each.call_id)
            for each in spent
        )
        if calls:
            await model_calls.charge(self._db, model_calls.Asked(None, None, None, STAGE, None, calls))
