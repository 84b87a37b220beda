"""Random histories of an account: purchases, runs, crashes, refunds, plan changes, time. The balances stay right."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from bookgen.billing.addons import count_use, hold_use, release_use
from bookgen.billing.checkout import HostedCheckout, Payments, ReturnUrls
from bookgen.billing.processor_catalog import package_offer
from bookgen.billing.quota import Quota
from bookgen.errors import BookgenError, Conflict, InvalidInput, PlanUpgradeRequired, QuotaExceeded
from bookgen.models import FundingSource
from bookgen.store import credits, subscriptions
from tests.fakes.stripe_server import FakeStripe

NOWHERE = ReturnUrls()
PACKAGES = ("single", "five-pack", "twenty-pack")
PLANS = (("starter", "monthly"), ("pro", "monthly"), ("starter", "yearly"), ("pro", "yearly"))
ADDON = "automated-production"
LENGTHS = (5_000, 20_000, 45_000, 60_000, 140_000)

# Everything of one account that must add up, in one query.
BOOKS = """
    SELECT coalesce((SELECT balance FROM wallet WHERE account_id = $1), 0) AS balance,
           (SELECT coalesce(sum(amount), 0) FROM credit_transaction WHERE account_id = $1) AS ledger,
           (SELECT coalesce(sum(remaining), 0) FROM credit_lot WHERE account_id = $1) AS lots,
           (SELECT coalesce(sum(amount), 0) FROM credit_transaction
             WHERE account_id = $1 AND kind = 'purchase') AS bought,
           (SELECT count(*) FROM credit_transaction WHERE account_id = $1 AND kind = 'book_spend') AS spent,
           (SELECT coalesce(sum(books_created), 0) FROM usage_period WHERE account_id = $1) AS by_plan,
           (SELECT count(*) FROM consumption WHERE account_id = $1) AS consumptions,
           (SELECT count(*) FROM credit_lot l
             WHERE account_id = $1 AND remaining < (SELECT count(*) FROM hold h WHERE h.lot_id = l.id)) AS overheld
"""

# Books counted and held, by period of the plan's allowance.
TAKEN = """
    SELECT period_start, sum(n)::int AS taken
      FROM (SELECT period_start, books_created AS n FROM usage_period WHERE account_id = $1
            UNION ALL
            SELECT period_start, 1 FROM hold WHERE account_id = $1 AND source = 'subscription') AS each
     GROUP BY period_start
"""

BALANCES = (
    "SELECT balance_after, sum(amount) OVER (ORDER BY id) AS summed FROM credit_transaction WHERE account_id = $1"
)

# A refund removes the use made of its purchase. Nothing else removes more than was paid for.
USES = """
    SELECT (SELECT count(*) FROM addon_use u JOIN account_addon o ON o.id = u.account_addon_id
             WHERE o.account_id = $1 AND o.billing_type = 'per_use'
               AND NOT EXISTS (SELECT FROM checkout c WHERE c.id = u.checkout_id AND c.status = 'refunded')) AS taken,
           (SELECT count(*) FROM checkout
             WHERE account_id = $1 AND kind = 'addon' AND billing = 'per_use' AND status = 'paid') AS bought
"""

ACCOUNT = """
    INSERT INTO account (username, email, created_at) VALUES ($1, $1 || '@example.com', $2) RETURNING id
"""

BOOK = """
    INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
    VALUES ($1, 'A book', 3, $2, '6x9', 'en') RETURNING id
"""


class Crash(Exception):
    """The process died before the commit."""


@dataclass
class History:
    pool: asyncpg.Pool
    stripe: FakeStripe
    payments: Payments
    quota: Quota
    clock: Any
    account: int = 0
    sessions: list[str] = field(default_factory=list)
    credits: dict[str, int] = field(default_factory=dict)
    books: dict[int, int] = field(default_factory=dict)
    running: dict[UUID, int] = field(default_factory=dict)
    completed: set[UUID] = field(default_factory=set)
    taken: dict[Any, int] = field(default_factory=dict)
    productions: list[UUID] = field(default_factory=list)

    async def live(self, deeds: list[tuple[str, int]]) -> None:
        self.stripe.forget_business()
        self.account = await self.pool.fetchval(ACCOUNT, f"h{uuid4().hex[:12]}", self.clock.begin())
        for name, number in deeds:
            deed: Callable[[Random], Awaitable[None]] = getattr(self, name)
            await deed(Random(number))
            await self.check(name)
        await self.end(Random(len(deeds)))

    # --- buying -------------------------------------------------------------------------------------

    async def buy_credits(self, random: Random) -> None:
        package = await credits.find_package(self.pool, random.choice(PACKAGES))
        assert package is not None
        bought = await self.payments.buy_credits(self.account, package.slug, NOWHERE)
        self.sessions.append(bought.session_id)
        self.credits[bought.session_id] = package_offer(package).credits or 0

    async def buy_plan(self, random: Random) -> None:
        try:
            bought = await self.payments.buy_plan(self.account, *random.choice(PLANS), NOWHERE)
        except Conflict:
            return
        if isinstance(bought, HostedCheckout):
            self.sessions.append(bought.session_id)

    async def buy_addon(self, random: Random) -> None:
        try:
            bought = await self.payments.buy_addon(self.account, ADDON, random.choice(("per_use", "monthly")), NOWHERE)
        except Conflict:
            return
        self.sessions.append(bought.session_id)

    async def pay(self, random: Random) -> None:
        session = self._some(random, self.sessions, status="open")
        if session:
            by_bank = session["mode"] == "payment" and random.random() < 0.3
            self.stripe.pay(session["id"], delayed=by_bank)

    async def bank_answers(self, random: Random) -> None:
        session = self._some(random, self.sessions, mode="payment", status="complete", payment_status="unpaid")
        if session and self.stripe.objects[session["payment_intent"]]["status"] == "processing":
            self.stripe.settle_delayed(session["id"], succeeds=random.random() < 0.7)

    async def refund(self, random: Random) -> None:
        session = self._some(random, self.sessions, mode="payment", payment_status="paid")
        if session and random.random() < 0.8:
            left = session["amount_total"] - self.stripe.charge_of(session["id"])["amount_refunded"]
            if left:
                self.stripe.refund(session["id"], random.choice((left, random.randint(1, left))))
                if random.random() < 0.2:
                    self.stripe.fail_refund(session["id"], lowers=random.random() < 0.5)
        elif session:
            self.stripe.dispute(session["id"])

    async def judge(self, random: Random) -> None:
        """The bank decides a dispute."""
        session = self._some(random, self.sessions, mode="payment", payment_status="paid")
        if session and self.stripe.charge_of(session["id"])["disputed"]:
            self.stripe.close_dispute(session["id"], random.choice(("won", "lost")))

    async def renew(self, random: Random) -> None:
        subscription = self._some(random, self._subscriptions())
        if subscription and subscription["status"] != "canceled":
            self.stripe.renew(subscription["id"], paid=random.random() < 0.7)

    async def cancel(self, random: Random) -> None:
        subscription = self._some(random, self._subscriptions())
        if subscription and subscription["status"] != "canceled":
            self.stripe.cancel(subscription["id"], reason=random.choice(("cancellation_requested", "payment_failed")))

    # --- events -------------------------------------------------------------------------------------

    async def deliver(self, random: Random) -> None:
        """Deliver some of the events, in any order, some of them twice."""
        events = random.choices(self.stripe.events, k=min(4, len(self.stripe.events))) if self.stripe.events else []
        for event in events:
            await self.payments.receive(*self.stripe.delivery(event))

    async def forge(self, random: Random) -> None:
        if self.stripe.events:
            event = random.choice(self.stripe.events)
            try:
                await self.payments.receive(*self.stripe.delivery(event, secret="whsec_guessed"))
            except InvalidInput:
                return
            raise AssertionError("a forged event was believed")

    # --- writing ------------------------------------------------------------------------------------

    async def start(self, random: Random) -> None:
        idle = [book for book in self.books if book not in self.running.values()]
        book = random.choice(idle) if idle and random.random() < 0.6 else await self._new_book(random)
        run = uuid4()
        self.running[run] = book

        async def hold(connection: Any) -> None:
            standing = await self.quota.standing(connection, self.account)
            source = await self.quota.hold_book(connection, standing, book, run, self.books[book])
            if source is FundingSource.SUBSCRIPTION:
                await self._within_limit(connection)

        try:
            await self._commit(random, hold)
        except (QuotaExceeded, PlanUpgradeRequired):
            del self.running[run]

    async def complete(self, random: Random) -> None:
        if not self.running:
            return
        run = random.choice(list(self.running))
        book = self.running.pop(run)
        self.completed.add(run)

        async def consume(connection: Any) -> None:
            await self.quota.consume_book(connection, self.account, book, run, self.books[book])

        for _ in range(random.choice((1, 1, 2))):
            await self._commit(random, consume)

    async def stop(self, random: Random) -> None:
        if not self.running:
            return
        book = self.running.pop(random.choice(list(self.running)))
        wrote = random.random() < 0.5
        await self._commit(random, lambda connection: self.quota.release_book(connection, book, wrote=wrote))

    async def produce(self, random: Random) -> None:
        run = uuid4()

        async def hold(connection: Any) -> None:
            await hold_use(connection, self.quota, await self.quota.standing(connection, self.account), ADDON, run, 1)

        try:
            await self._commit(random, hold)
        except PlanUpgradeRequired:
            return
        self.productions.append(run)

    async def finish_production(self, random: Random) -> None:
        if not self.productions:
            return
        run = self.productions.pop(random.randrange(len(self.productions)))
        if random.random() < 0.5:
            await self._commit(random, lambda connection: count_use(connection, self.quota, run))
        await self._commit(random, lambda connection: release_use(connection, self.quota, self.account, run))

    async def delete(self, random: Random) -> None:
        idle = [book for book in self.books if book not in self.running.values()]
        if idle:
            book = random.choice(idle)
            del self.books[book]
            await self.pool.execute("DELETE FROM book WHERE id = $1", book)

    async def rush(self, random: Random) -> None:
        """Several actions at once. A run completes after it has started."""
        await asyncio.gather(
            self.complete(random), self.deliver(random), self.start(random), self.start(random), self.deliver(random)
        )

    async def wait(self, random: Random) -> None:
        self.clock.now += timedelta(days=random.choice((1, 3, 8, 20, 31)), seconds=random.randint(0, 86_400))

    # --- what must hold -----------------------------------------------------------------------------

    async def check(self, deed: str) -> None:
        books = await self.pool.fetchrow(BOOKS, self.account)
        assert books["balance"] == books["ledger"] == books["lots"], deed
        assert all(row["balance_after"] == row["summed"] for row in await self.pool.fetch(BALANCES, self.account)), deed
        assert books["consumptions"] == len(self.completed) == books["by_plan"] + books["spent"], deed
        assert books["bought"] <= self._paid_for(), deed
        assert books["overheld"] == 0, deed
        await self._no_more_than_allowed(deed)
        uses = await self.pool.fetchrow(USES, self.account)
        assert uses["taken"] <= uses["bought"], deed

    async def _no_more_than_allowed(self, deed: str) -> None:
        """No action exceeds the limit of its period. After a downgrade more may be used than the plan allows."""
        period, limit = await self._allowance(self.pool)
        for row in await self.pool.fetch(TAKEN, self.account):
            allowed = max(self.taken.get(row["period_start"], 0), limit if row["period_start"] == period else 0)
            assert row["taken"] <= allowed or deed == "rush", (deed, row["period_start"], row["taken"], allowed)
            self.taken[row["period_start"]] = row["taken"]

    async def _within_limit(self, connection: Any) -> None:
        period, limit = await self._allowance(connection)
        taken = {row["period_start"]: row["taken"] for row in await connection.fetch(TAKEN, self.account)}
        assert taken.get(period, 0) <= max(limit, self.taken.get(period, 0)), (period, taken, limit)

    async def _allowance(self, db: Any) -> tuple[Any, int]:
        standing = await self.quota.standing(db, self.account)
        return standing.period.start, standing.plan.features.books_per_month

    async def end(self, random: Random) -> None:
        """In the end every event arrives. The outcome does not depend on their order and number."""
        ends = set()
        for _ in range(2):
            events = [*self.stripe.events, *random.choices(self.stripe.events, k=3)] if self.stripe.events else []
            random.shuffle(events)
            for event in events:
                await self.payments.receive(*self.stripe.delivery(event))
            await self.check("end")
            ends.add(await self._state())
        assert len(ends) == 1
        [state] = ends
        assert state[0] == self._paid_for()

    async def _state(self) -> tuple[Any, ...]:
        books = await self.pool.fetchrow(BOOKS, self.account)
        present = await subscriptions.find(self.pool, self.account)
        plan = await self.quota.plan(self.pool, self.account)
        assert present is not None
        return books["bought"], books["balance"], plan.slug, present.status, present.current_period_end

    # --- the small print ----------------------------------------------------------------------------

    async def _commit(self, random: Random, work: Callable[[Any], Awaitable[None]]) -> None:
        """Run in a transaction. Sometimes the process dies first, and the work is repeated."""
        if random.random() < 0.3:
            try:
                async with self.pool.acquire() as connection, connection.transaction():
                    await work(connection)
                    raise Crash
            except (Crash, BookgenError):
                pass
        async with self.pool.acquire() as connection, connection.transaction():
            await work(connection)

    async def _new_book(self, random: Random) -> int:
        words = random.choice(LENGTHS)
        book = int(await self.pool.fetchval(BOOK, self.account, words))
        self.books[book] = words
        return book

    def _some(self, random: Random, names: Any, **wanted: str) -> dict[str, Any] | None:
        found = [self.stripe.objects[name] for name in names]
        found = [each for each in found if all(each[key] == value for key, value in wanted.items())]
        return random.choice(found) if found else None

    def _subscriptions(self) -> list[str]:
        return [name for name, each in self.stripe.objects.items() if each["object"] == "subscription"]

    def _paid_for(self) -> int:
        return sum(
            count for name, count in self.credits.items() if self.stripe.objects[name]["payment_status"] == "paid"
        )


DEEDS = (
    "buy_credits", "buy_plan", "buy_addon", "pay", "pay", "bank_answers", "refund", "judge", "renew", "cancel",
    "deliver", "deliver", "forge", "start", "start", "complete", "complete", "stop", "delete", "rush", "wait",
    "produce", "finish_production",
)  # fmt: skip
