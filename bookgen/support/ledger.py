"""Records the cost of the assistant's model calls in the ledger, and applies the same daily cap as for books."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg

from bookgen.billing.cost_caps import CostBudget, CostCaps, Purpose
from bookgen.models import Usage
from bookgen.providers.text import Spent
from bookgen.store import model_calls
from bookgen.store.outages import through_outages

STAGE = "support"
MAX_SECONDS = 1.0  # how long an answer waits until its cost is recorded


class Ledger:
    """Records the cost of the assistant's calls.

    `price`: calculates the cost of a model's usage, in millionths of the currency. `day_cap`: what the whole server may
    spend a day, in millionths; None if unlimited. `begin` starts a database write as a task, which is finished even if
    the caller has disconnected.
    """

    def __init__(
        self,
        db: asyncpg.Pool,
        price: Callable[[str, Usage], int | None],
        begin: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        day_cap: int | None = None,
    ) -> None:
        self._db = db
        self._begin = begin
        self._price = price
        self._day_cap = day_cap

    @property
    def budget(self) -> CostBudget | None:
        """The cost budget for an answer; None if no cap is set."""
        if self._day_cap is None:
            return None
        return CostBudget(self._db, CostCaps(day=self._day_cap), self._price, Purpose(STAGE))

    async def charge(self, spent: tuple[Spent, ...]) -> None:
        """Record the cost of calls in a task, however long the database is unavailable.

        This function waits for the task for at most MAX_SECONDS.
        """
        calls = tuple(
            model_calls.PaidCall(each.model, each.usage, self._price(each.model, each.usage), each.call_id)
            for each in spent
        )
        if calls:
            entry = model_calls.LedgerEntry(None, None, None, STAGE, None, calls)
            write = self._begin(through_outages(lambda: model_calls.charge(self._db, entry)))
            await asyncio.wait({write}, timeout=MAX_SECONDS)
