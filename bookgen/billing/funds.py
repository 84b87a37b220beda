"""What can pay for an account's next book: the plan's allowance, or a credit. Credits come in lots (`credits.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bookgen.billing.plan_features import covers_words, left
from bookgen.billing.standing import Standing
from bookgen.models import CreditLot
from bookgen.store import credits, holds, usage
from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class Funds:
    standing: Standing
    books_used: int
    books_held: int
    lots: list[CreditLot]

    @property
    def books_left(self) -> int:
        return left(self.standing.plan.features.books_per_month, self.books_used + self.books_held)

    def plan_pays(self, words: int) -> bool:
        return self.books_left != 0 and covers_words(self.standing.plan, words)

    def lot_that_pays(self, words: int) -> CreditLot | None:
        """The oldest lot that has a credit left and covers a book of this many words; None if there is no such lot."""
        return next((lot for lot in self.lots if lot.available and words <= lot.words_per_book), None)

    @property
    def max_words(self) -> int:
        """The length in words of the longest book that the plan or a credit can pay for now."""
        by_plan = self.standing.plan.features.max_word_count_per_book if self.books_left != 0 else 0
        return max([by_plan, *(lot.words_per_book for lot in self.lots if lot.available)])


async def find_funds(db: DB, standing: Standing, now: datetime) -> Funds:
    account_id, period = standing.account_id, standing.period
    used = await usage.find(db, account_id, period.start, period.end)
    held = await holds.count_in_period(db, account_id, period.start)
    return Funds(standing, used.books_created, held, await credits.lots(db, account_id, now))
