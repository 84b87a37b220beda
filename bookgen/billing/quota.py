"""Quotas: what is left of a plan's allowances in this period, and what pays for a book: the plan or a credit.

A run is the writing of a book. When a run is accepted, one book of the plan, or one credit, is reserved for it. The
reservation is called a hold. When the run completes, the hold is used up. If the run ends earlier, the hold is
released, or kept for the book's next run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from bookgen.billing import credits as wallet
from bookgen.billing.funds import Funds, find_funds
from bookgen.billing.periods import Period
from bookgen.billing.plan_features import covers_words, larger_plan, left, pays_for_any
from bookgen.billing.standing import RENEWAL_GRACE, Standing, find_standing, standard_plan
from bookgen.errors import BookQuotaExceeded, PlanUpgradeRequired, QuotaExceeded, must_exist
from bookgen.models import UNLIMITED, Allowance, CreationOptions, FundingSource, Hold, Plan, UsagePeriod
from bookgen.store import credits, holds, plans, subscriptions, usage
from bookgen.store.database import DB

EARLIER_PERIODS = 6
# A hold also pays for chapters that the author empties and has rewritten, up to this many times the words of the
# longest book it covers. Without a limit, one hold would pay for any number of books.
TIMES_WRITTEN = 3
USED_UP = (
    "This book was rewritten so often that it has used up the words of one book of your plan. If you resume it, it "
    "counts as another book."
)
NO_BOOKS = "Your plan has no books left this period"
HELD = "Your remaining books this month are reserved for books in progress"
NAMES = {
    Allowance.BOOKS: "books",
    Allowance.AI_IMAGES: "images",
    Allowance.AI_EDITS: "AI edits",
    Allowance.PROOFREADING_CHECKS: "proofreading checks",
}


class Quota:
    """The quotas of all accounts. If `billing` is off, everyone has the self-hosted plan, which has no limits."""

    def __init__(
        self,
        *,
        billing: bool,
        public_url: str = "",
        renewal_grace: timedelta = RENEWAL_GRACE,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.billing = billing
        self.renewal_grace = renewal_grace
        self.upgrade_url = f"{public_url}/api/v1/auth/subscriptions/plans/"
        self.credits_url = f"{public_url}/api/v1/auth/credits/packages/"
        self.addons_url = f"{public_url}/api/v1/auth/addons/available/"
        self.now = clock

    async def standing(self, db: DB, account_id: int) -> Standing:
        return await find_standing(db, account_id, self.now(), billing=self.billing, renewal_grace=self.renewal_grace)

    @property
    def plan_of_all(self) -> str | None:
        """The slug of the plan that everyone has if billing is off; None if billing is on."""
        return None if self.billing else standard_plan(billing=False)

    async def plan(self, db: DB, account_id: int) -> Plan:
        if self.plan_of_all:
            return must_exist(await plans.find(db, self.plan_of_all))
        return (await self.standing(db, account_id)).plan

    async def period(self, db: DB, account_id: int) -> Period:
        return (await self.standing(db, account_id)).period

    async def usage(self, db: DB, account_id: int) -> UsagePeriod:
        """What the account has used in the current period."""
        period = await self.period(db, account_id)
        return await usage.find(db, account_id, period.start, period.end)

    async def usage_history(self, db: DB, account_id: int) -> list[UsagePeriod]:
        """What the account has used in the current period and in earlier periods, newest first."""
        current = await self.usage(db, account_id)
        return [current, *await usage.others(db, account_id, current.period_start, EARLIER_PERIODS)]

    async def creation_options(self, db: DB, account_id: int) -> CreationOptions:
        funds = await self._funds(db, account_id)
        by_plan = funds.books_left != 0
        by_credits = any(lot.available for lot in funds.lots)
        return CreationOptions(
            can_create=by_plan or by_credits,
            subscription_available=by_plan,
            subscription_remaining=funds.books_left,
            credits_available=by_credits,
            credits_balance=await credits.balance(db, account_id),
            suggested_source="subscription" if by_plan else "credits" if by_credits else "none",
            max_words=funds.max_words,
        )

    async def require_book(self, db: DB, account_id: int, target_word_count: int) -> None:
        """Raise PlanUpgradeRequired or BookQuotaExceeded if neither the plan nor a credit can pay for such a book now.

        Reserves nothing; `hold_book` does.
        """
        await self._require_source(db, await self._funds(db, account_id), target_word_count)

    async def require_words(self, db: DB, account_id: int, book_id: int, target_word_count: int) -> None:
        """Raise PlanUpgradeRequired if the book may not have this many words as its target.

        If a run of the book has a hold, the target may be as long as the hold pays for. Otherwise the plan or an
        available credit must allow the length. It does not matter whether the plan has books left this month.
        """
        hold = await holds.find_by_book(db, book_id)
        if hold and hold.run_id:
            allowed = _covered(await self.plan(db, account_id), hold)
            if target_word_count > allowed:
                raise self._beyond(
                    f"The book of your plan or the credit that is reserved for this run covers up to {allowed:,} "
                    "words. Stop the run first, then set a longer target.",
                    target_word_count,
                    allowed,
                )
            return
        funds = await self._funds(db, account_id)
        if not covers_words(funds.standing.plan, target_word_count) and not funds.lot_that_pays(target_word_count):
            raise self._too_long(funds, target_word_count)

    async def hold_book(
        self, connection: DB, standing: Standing, book_id: int, run_id: UUID, target_word_count: int
    ) -> FundingSource:
        """Reserve a book of the plan, or a credit, for the run. Returns which of the two.

        Call it in the transaction that accepts the run. Raises PlanUpgradeRequired if neither the plan nor an available
        credit covers a book of this length, and BookQuotaExceeded if the plan covers the length but has no books left.
        """
        account_id = standing.account_id
        if pays_for_any(standing.plan, target_word_count):
            source, period = FundingSource.SUBSCRIPTION, standing.period
            if await holds.add(connection, account_id, book_id, run_id, source, None, period.start, period.end):
                return source
        await subscriptions.lock(connection, account_id)
        await wallet.settle(connection, account_id, self.now())
        hold = await holds.find_by_book(connection, book_id)
        if hold:
            plan = await self.plan(connection, account_id)
            if _is_used_up(plan, hold, target_word_count):
                await holds.leave_book(connection, hold.id)
            elif target_word_count <= _covered(plan, hold):
                await holds.hand_to_run(connection, hold.id, run_id)
                return hold.source
            else:
                await holds.remove(connection, hold.id)
        funds = await self._funds(connection, account_id)
        await self._require_source(connection, funds, target_word_count)
        period = funds.standing.period
        lot = None if funds.plan_pays(target_word_count) else funds.lot_that_pays(target_word_count)
        source = FundingSource.CREDITS if lot else FundingSource.SUBSCRIPTION
        lot_id = lot.id if lot else None
        if not await holds.add(connection, account_id, book_id, run_id, source, lot_id, period.start, period.end):
            raise RuntimeError(f"book {book_id} already has a hold, although the account is locked")
        return source

    async def require_words_left(self, db: DB, standing: Standing, run_id: UUID, target_word_count: int) -> None:
        """Raise QuotaExceeded if the book's runs have written all the words that the run's hold pays for.

        A hold pays for writing the book several times, but not without limit (see TIMES_WRITTEN).
        """
        hold = await holds.find_by_run(db, run_id)
        if hold and _is_used_up(standing.plan, hold, target_word_count):
            raise QuotaExceeded(USED_UP)

    async def consume_book(self, connection: DB, account_id: int, book_id: int, run_id: UUID, words: int) -> None:
        """Count the book and remove the run's hold. Idempotent per run.

        Call it in the transaction that completes the run.
        """
        await subscriptions.lock(connection, account_id)
        hold = await holds.find_by_run(connection, run_id)
        if hold:
            await holds.remove(connection, hold.id)
        source, lot_id = (hold.source, hold.lot_id) if hold else (FundingSource.SUBSCRIPTION, None)
        period = hold or await self.usage(connection, account_id)
        first = await holds.consume(connection, run_id, account_id, book_id, source, lot_id, period.period_start, words)
        if not first:
            return
        if source is FundingSource.SUBSCRIPTION:
            await usage.count(connection, account_id, period.period_start, period.period_end, books=1)
        if lot_id is not None:
            await wallet.spend(connection, account_id, lot_id, book_id, run_id)

    async def count_words(self, connection: DB, account_id: int, words: int) -> None:
        """Add words that a model wrote for the account to the usage of the current period."""
        period = await self.period(connection, account_id)
        await usage.count(connection, account_id, period.start, period.end, words=words)

    async def release_book(self, connection: DB, book_id: int, *, wrote: bool) -> None:
        """End the hold of a run that did not complete. `wrote`: whether the run has written something.

        If it has, the hold is kept for the book's next run until the period ends. Otherwise the hold is removed.
        """
        hold = await holds.find_by_book(connection, book_id)
        if hold is None:
            return
        await subscriptions.lock(connection, hold.account_id)
        if wrote:
            period = await self.period(connection, hold.account_id)
            await holds.keep(connection, hold.id, until=period.end)
        else:
            await holds.remove(connection, hold.id)
        await wallet.settle(connection, hold.account_id, self.now())

    async def require(
        self, db: DB, standing: Standing, allowance: Allowance, *, in_flight: int, amount: int = 1
    ) -> None:
        """Raise QuotaExceeded if less than `amount` of the allowance is left in this period.

        `in_flight`: what work in progress will use; it counts as used. Stores nothing; call `spend` in the transaction
        that stores the result of the work.
        """
        used = await self._used(db, standing, allowance)
        room = left(standing.plan.features.limit(allowance), used + in_flight)
        if room != UNLIMITED and room < amount:
            raise self._too_little(standing, allowance, used, in_flight, amount)

    async def spend(self, db: DB, account_id: int, allowance: Allowance, amount: int = 1) -> None:
        """Count `amount` of the allowance as used. If less is left, raise QuotaExceeded and count nothing."""
        standing = await self.standing(db, account_id)
        limit, period = standing.plan.features.limit(allowance), standing.period
        if not await usage.spend(db, account_id, period.start, period.end, allowance, limit, amount):
            used = await self._used(db, standing, allowance)
            raise self._too_little(standing, allowance, used, 0, amount)

    async def _used(self, db: DB, standing: Standing, allowance: Allowance) -> int:
        period = standing.period
        return (await usage.find(db, standing.account_id, period.start, period.end)).used(allowance)

    async def _funds(self, db: DB, account_id: int) -> Funds:
        return await find_funds(db, await self.standing(db, account_id), self.now())

    async def _require_source(self, db: DB, funds: Funds, words: int) -> None:
        if funds.plan_pays(words) or funds.lot_that_pays(words):
            return
        plan = funds.standing.plan
        if not covers_words(plan, words):
            raise self._too_long(funds, words)
        details = self._exhausted(funds.standing, Allowance.BOOKS, funds.books_used, funds.books_held)
        larger = larger_plan(plan, await plans.list_active(db), words)
        upgrade = {"url": self.upgrade_url, "plan": larger and larger.slug, "credits_url": self.credits_url}
        sentence = HELD if funds.books_held else NO_BOOKS
        has_credits = any(lot.available for lot in funds.lots)
        credits_text = "none of your credits covers this book" if has_credits else "you have no credits left"
        advice = f", or choose the {larger.name} plan, which has more books" if larger else ""
        message = f"{sentence}, and {credits_text}. Wait for the next period{advice}."
        raise BookQuotaExceeded(message, **details, upgrade=upgrade)

    def _too_long(self, funds: Funds, words: int) -> PlanUpgradeRequired:
        allowed = max(funds.standing.plan.features.max_word_count_per_book, funds.max_words)
        sentence = f"Your plan and credits cover books of up to {allowed:,} words (got {words:,})."
        return self._beyond(f"{sentence} Plan a shorter book, or choose a larger plan.", words, allowed)

    def _beyond(self, sentence: str, words: int, allowed: int) -> PlanUpgradeRequired:
        return PlanUpgradeRequired(sentence, requested=words, max_allowed=allowed, upgrade_url=self.upgrade_url)

    def _too_little(self, standing: Standing, allowance: Allowance, used: int, held: int, amount: int) -> QuotaExceeded:
        details = self._exhausted(standing, allowance, used, held)
        end = standing.period.end
        room = f"You have {details['remaining']} of {details['limit']} {NAMES[allowance]} left"
        need = f"; this needs {amount}" if amount > 1 else ""
        advice = "Wait for the next period, or choose a larger plan."
        return QuotaExceeded(f"{room} until {end:%b} {end.day}, {end.year}{need}. {advice}", **details)

    def _exhausted(self, standing: Standing, allowance: Allowance, used: int, held: int) -> dict[str, object]:
        return self.exhausted(standing, allowance, standing.plan.features.limit(allowance), used, held)

    def exhausted(self, standing: Standing, quota_type: str, limit: int, used: int, held: int = 0) -> dict[str, object]:
        """The details of a QuotaExceeded error: how much of an allowance, or of another limit, is used and left.

        `quota_type`: the name of the allowance or limit. `held`: how much is reserved for work in progress; the details
        show this separately.
        """
        return {
            "quota_type": str(quota_type),
            "limit": limit,
            "used": used,
            "reserved": held,
            "remaining": left(limit, used + held),
            "period_end": standing.period.end.isoformat().replace("+00:00", "Z"),
            "upgrade_url": self.upgrade_url,
        }


def _covered(plan: Plan, hold: Hold) -> int:
    """The length of the longest book that the hold pays for, in words."""
    return plan.features.max_word_count_per_book if hold.words_per_book is None else hold.words_per_book


def _is_used_up(plan: Plan, hold: Hold, target_word_count: int) -> bool:
    """Whether the book's runs have written all the words that the hold pays for. Never on a plan with unlimited books.

    A hold pays for TIMES_WRITTEN times the length of the longest book that it covers. If the book's target is longer,
    which a change of plan can cause, the target counts instead.
    """
    longest = max(_covered(plan, hold), target_word_count)
    return plan.features.books_per_month != UNLIMITED and hold.words_written >= TIMES_WRITTEN * longest
