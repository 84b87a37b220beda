"""Accounts with books, and a clock that the test controls."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from bookgen.billing import credits
from bookgen.billing.checkout import Payments
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.models import CreditKind
from bookgen.store import subscriptions
from tests.fakes.stripe_server import NEXT_WEBHOOK_SECRET, SECRET_KEY, WEBHOOK_SECRET, FakeStripe

SIGN_UP = datetime(2026, 1, 31, 12, tzinfo=UTC)
_names = itertools.count(1)

Maker = Callable[..., Awaitable[int]]


class Clock:
    def __init__(self) -> None:
        self.now = SIGN_UP + timedelta(days=1)

    def __call__(self) -> datetime:
        return self.now

    def begin(self) -> datetime:
        """When accounts signed up: one day before now."""
        self.now = SIGN_UP + timedelta(days=1)
        return SIGN_UP


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quota(clock: Clock) -> Quota:
    return Quota(billing=True, public_url="https://books.test", clock=clock)


@pytest.fixture
def make_account(pool: asyncpg.Pool) -> Maker:
    async def make(plan: str = "free") -> int:
        name = f"writer{next(_names)}"
        account_id = await pool.fetchval(
            "INSERT INTO account (username, email, created_at) VALUES ($1, $2, $3) RETURNING id",
            name,
            f"{name}@example.com",
            SIGN_UP,
        )
        await pool.execute(
            "UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = $2) WHERE account_id = $1",
            account_id,
            plan,
        )
        return int(account_id)

    return make


@pytest.fixture
def make_book(pool: asyncpg.Pool) -> Maker:
    async def make(account_id: int, words: int = 10_000) -> int:
        return int(
            await pool.fetchval(
                "INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)"
                " VALUES ($1, 'A book', 3, $2, '6x9', 'en') RETURNING id",
                account_id,
                words,
            )
        )

    return make


@pytest.fixture
def grant(pool: asyncpg.Pool) -> Callable[..., Awaitable[None]]:
    async def grant(account_id: int, amount: int, words: int = 50_000) -> None:
        async with pool.acquire() as connection, connection.transaction():
            await subscriptions.lock(connection, account_id)
            await credits.grant(connection, account_id, amount, words, CreditKind.BONUS, "Welcome")

    return grant


@pytest.fixture
async def stripe(clock: Clock) -> AsyncIterator[FakeStripe]:
    stripe = FakeStripe(clock=lambda: clock().timestamp())
    await stripe.start()
    yield stripe
    await stripe.stop()


@pytest.fixture
async def payments(open_payments: Callable[[], Payments]) -> Payments:
    return open_payments()


@pytest.fixture
async def open_payments(pool: asyncpg.Pool, stripe: FakeStripe, clock: Clock) -> AsyncIterator[Callable[[], Payments]]:
    """Opens payment services that behave like separate processes."""
    async with contextlib.AsyncExitStack() as closing:

        def open_payments() -> Payments:
            payments = Payments(
                pool,
                Gateway(SECRET_KEY, api_base=stripe.url),
                public_url="https://books.test",
                webhook_secrets=[NEXT_WEBHOOK_SECRET, WEBHOOK_SECRET],
                allowed_origins=["https://app.test"],
                clock=clock,
            )
            closing.push_async_callback(payments.close)
            return payments

        yield open_payments


@pytest.fixture
def deliver(payments: Payments, stripe: FakeStripe) -> Callable[..., Awaitable[None]]:
    """Deliver these events, or all pending ones."""

    async def deliver(*events: dict[str, Any]) -> None:
        for event in events or list(stripe.events):
            await payments.receive(*stripe.delivery(event))

    return deliver
