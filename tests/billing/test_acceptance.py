"""What the quick way of accepting a run says of a plan is what the way under the locks does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from bookgen.billing.quota import Quota
from bookgen.models import FundingSource, Run, RunMode, RunStatus
from bookgen.store import acceptance, runs

STATES = ["active", "trialing", "past_due", "canceled", "incomplete"]


@pytest.fixture
def look(pool, quota):
    async def look(account_id, book_id, quota=quota):
        return await acceptance.read(pool, account_id, book_id, 180.0, quota.standard_plan)

    return look


@pytest.fixture
def hold(pool, quota):
    async def hold(account_id, book_id, words, quota=quota):
        async with pool.acquire() as connection, connection.transaction():
            return await quota.hold_book(connection, account_id, book_id, uuid4(), words)

    return hold


@pytest.mark.parametrize("status", STATES)
@pytest.mark.parametrize("days", [1, 6, 20])
@pytest.mark.parametrize("words", [20_000, 60_000])
async def test_both_ways_find_the_same_period(
    pool, clock, quota, make_account, make_book, look, hold, grant, status, days, words
):
    """An account that paid for a starter month, at different distances from the day on which a payment failed."""
    account = await make_account("starter")
    await grant(account, 1, 100_000)  # so that the second way never refuses
    await pool.execute(
        """UPDATE subscription SET status = $2, anchor = $3, past_due_since = $3,
                                   current_period_end = $3::timestamptz + interval '10 days' WHERE account_id = $1""",
        account,
        status,
        clock.begin() + timedelta(hours=3),
    )
    clock.now += timedelta(days=days)
    book = await make_book(account)

    period = quota.period_that_pays((await look(account, book)).funds, words)
    source = await hold(account, book, words)

    assert (period is not None) == (source is FundingSource.SUBSCRIPTION)
    if period is not None:
        held = await pool.fetchrow("SELECT period_start, period_end FROM hold WHERE book_id = $1", book)
        assert (period.start, period.end) == tuple(held)


async def test_holds_and_books_of_the_period_are_counted(quota, make_account, make_book, look, hold):
    account = await make_account("free")
    first, second = [await make_book(account) for _ in range(2)]
    assert quota.period_that_pays((await look(account, second)).funds, 10_000)

    await hold(account, first, 10_000)

    assert quota.period_that_pays((await look(account, second)).funds, 10_000) is None


async def test_what_has_a_hold_or_another_owner_is_left_to_the_way_under_the_locks(make_account, make_book, look, hold):
    account, stranger = await make_account("pro"), await make_account("pro")
    book = await make_book(account)
    assert await look(stranger, book) is None

    await hold(account, book, 10_000)

    assert await look(account, book) is None


async def test_with_billing_off_the_self_hosted_plan_pays_up_to_its_length(make_account, make_book, look):
    account = await make_account("free")
    quota = Quota(billing=False)
    funds = (await look(account, await make_book(account), quota)).funds

    assert quota.period_that_pays(funds, 500_000)
    assert quota.period_that_pays(funds, 500_001) is None


async def test_a_slot_that_moved_on_accepts_nothing(pool, make_account, make_book, look):
    account = await make_account("pro")
    book = await make_book(account)
    found = await look(account, book)
    async with pool.acquire() as connection, connection.transaction():
        await runs.lock_slot(connection, account)

    assert await accept(pool, found.version, account, book) is None

    assert await pool.fetchval("SELECT count(*) FROM run WHERE account_id = $1", account) == 0
    assert await pool.fetchval("SELECT count(*) FROM hold WHERE account_id = $1", account) == 0
    accepted = await accept(pool, (await look(account, book)).version, account, book)
    assert accepted is not None
    assert accepted.status is RunStatus.RUNNING
    held = await pool.fetchrow("SELECT run_id, source FROM hold WHERE book_id = $1", book)
    assert tuple(held) == (accepted.id, "subscription")
    taken = await pool.fetchrow("SELECT status, funding_source FROM book WHERE id = $1", book)
    assert tuple(taken) == ("generating", "subscription")


async def accept(pool, version, account, book):
    now = datetime.now(UTC)
    run = Run(
        id=uuid4(), book_id=book, account_id=account, status=RunStatus.RUNNING, mode=RunMode.FULL, total=0, done=0,
        call_no=0, epoch=1, owner=uuid4(), crash_count=0, queue_seq=0, current_chapter=None, words_written=0,
        failure=None, last_op=uuid4(), started_at=now, updated_at=now, finished_at=None,
    )  # fmt: skip
    return await acceptance.accept(pool, version, run, now, now + timedelta(days=30))
