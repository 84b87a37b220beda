"""Caps on the cost of model calls.

Each call first reserves its highest possible cost, so that concurrent calls together cannot exceed a cap.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from bookgen import metrics
from bookgen.errors import CostCapReached, Unavailable
from bookgen.models import Usage
from bookgen.store import reservations
from bookgen.store.reservations import Refusal

log = structlog.get_logger(__name__)

Price = Callable[[str, Usage], int | None]
REACHED = {
    "book": "The cost cap of this book (BOOKGEN_BOOK_COST_CAP)",
    "account_day": "Today's cost cap of this account (BOOKGEN_ACCOUNT_DAILY_COST_CAP)",
    "day": "Today's cost cap of this server (BOOKGEN_DAILY_COST_CAP)",
}
metrics.start_at_zero(metrics.COST_CAPS_REACHED, REACHED)
# In millionths: the daily caps of an account and of the server where anyone can register and nobody pays.
DEFAULT_ACCOUNT_DAY = 5_000_000
DEFAULT_DAY = 50_000_000


@dataclass(frozen=True, slots=True)
class CostCaps:
    """Caps on spending, in millionths of `currency`; None: no cap.

    `book` is for each book, `account_day` for each account and day, and `day` for the whole server and day.
    """

    book: int | None = None
    account_day: int | None = None
    day: int | None = None
    currency: str = "USD"

    @property
    def none(self) -> bool:
        return self.book is None and self.account_day is None and self.day is None

    def with_default_daily_caps(self) -> CostCaps:
        """The same caps, with default daily caps where none are set.

        For a server without billing on which anyone can register: there, nobody pays for the model calls.
        """
        return replace(self, account_day=self.account_day or DEFAULT_ACCOUNT_DAY, day=self.day or DEFAULT_DAY)

    def amount(self, cap: int | None) -> str:
        """The cap as text for people, such as "5.00 USD" or "any amount"."""
        return "any amount" if cap is None else f"{cap / 1e6:.2f} {self.currency}"

    def sentence(self, refusal: Refusal, cost: int) -> str:
        """The error message for a refused call. `cost`: the highest possible cost of the call, in millionths."""
        bound = {"book": self.book, "account_day": self.account_day, "day": self.day}[refusal.cap] or 0
        said = f"{REACHED[refusal.cap]} is reached: {refusal.spent / 1e6:.2f} of {bound / 1e6:.2f} "
        said += f"{self.currency} spent"
        if refusal.reserved:
            said += f", {refusal.reserved / 1e6:.2f} reserved for calls in progress"
        if refusal.spent < bound:
            said += f", and the next call may cost up to {cost / 1e6:.2f}"
        return f"{said}."


async def once(operation: Callable[[], Awaitable[Any]]) -> Any:
    return await operation()


@dataclass(frozen=True, slots=True)
class Purpose:
    """What model calls are for: a stage of the work, an account, a book and a chapter.

    The cap per account applies only if `account_id` is set, and the cap per book only if `book_id` is set.
    """

    stage: str
    account_id: int | None = None
    book_id: int | None = None
    chapter_number: int | None = None


@dataclass(frozen=True, slots=True)
class CostBudget:
    """Checks model calls against the caps, by reserving the highest possible cost of each call before it is made.

    Implements `providers.text.CallBudget`. `through`: runs a database operation, and may retry it during an outage.
    """

    db: asyncpg.Pool
    caps: CostCaps
    price: Price
    purpose: Purpose
    through: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]] = once

    async def reserve(self, call_id: UUID, model: str, most: Usage) -> None:
        caps, purpose, cost = self.caps, self.purpose, self._most(model, most)
        refusal: Refusal | None = await self.through(
            lambda: reservations.reserve(
                self.db, call_id, purpose.account_id, purpose.book_id, cost, caps.book, caps.account_day, caps.day
            )
        )
        if refusal is None:
            return
        metrics.COST_CAPS_REACHED.labels(refusal.cap).inc()
        log.warning(
            "cost_cap_reached",
            cap=refusal.cap,
            account_id=purpose.account_id,
            book_id=purpose.book_id,
            to_do="Raise the cap and restart, or wait until midnight UTC if it is a daily cap. Then run: bookgen runs "
            "resume --all --failed",
        )
        raise CostCapReached(
            caps.sentence(refusal, cost), stage=purpose.stage, retryable=True, chapter_number=purpose.chapter_number
        )

    async def release(self, call_id: UUID) -> None:
        """Release the call's reservation.

        If the database is unavailable, the reservation stays, and counts towards the caps until the end of the day.
        """
        try:
            await reservations.release(self.db, call_id)
        except Unavailable as outage:
            log.warning(
                "reservation_not_released",
                reason=str(outage),
                what="The cost reserved for a finished model call could not be released, so it counts towards the cost "
                "caps until the end of the day.",
            )

    def _most(self, model: str, most: Usage) -> int:
        """The highest possible cost of a call, in millionths; 0 if the model has no price.

        The prompt is counted at the higher of two prices: uncached input, or writing to the cache.
        """
        cached = replace(most, input_tokens=0, cache_write_tokens=most.input_tokens)
        return max(self.price(model, most) or 0, self.price(model, cached) or 0)
