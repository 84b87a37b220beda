"""Cost caps hold for concurrent calls, for calls that never ended, and across midnight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.billing.cost_caps import CostBudget, CostCaps, Purpose
from bookgen.errors import CostCapReached
from bookgen.models import Usage
from bookgen.store import model_calls
from bookgen.store.database import open_pool

MICROS = 1_000_000
ANY = Usage(calls=1, input_tokens=1)
MODEL = "scripted"
# This many calls at a millionth each, this many days from now.
ENTERED = """
    INSERT INTO model_call (stage, model, call_id, cost_micros, created_at)
    SELECT 'chapter', 'scripted', gen_random_uuid(), 1, now() + $2 * interval '1 day' FROM generate_series(1, $1::int)
"""
Account = Callable[..., Awaitable[int]]


def budget(db: asyncpg.Pool, caps: CostCaps, account_id: int | None, cost: int = MICROS) -> CostBudget:
    return CostBudget(db, caps, lambda _model, _usage: cost, Purpose("chapter", account_id))


async def reserved(of: CostBudget) -> UUID:
    call_id = uuid4()
    await of.reserve(call_id, MODEL, ANY)
    return call_id


async def entered(of: CostBudget, call_id: UUID, cost: int) -> None:
    calls = (model_calls.PaidCall(MODEL, ANY, cost, call_id),)
    await model_calls.charge(
        of.db, model_calls.LedgerEntry(of.purpose.account_id, None, None, of.purpose.stage, None, calls)
    )


async def refused(*calls: Awaitable[UUID]) -> int:
    """How many of the calls found no budget."""
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(end, UUID | CostCapReached) for end in ends), ends
    return sum(isinstance(end, CostCapReached) for end in ends)


@pytest.mark.parametrize("cap", ["account_day", "day", "both"])
async def test_concurrent_calls_of_two_processes_do_not_exceed_a_cap(
    dsn: str, pool: asyncpg.Pool, make_account: Account, cap: str
) -> None:
    account = await make_account()
    caps = CostCaps(account_day=7 * MICROS if cap != "day" else None, day=7 * MICROS if cap != "account_day" else None)
    elsewhere = await open_pool(dsn, size=5)
    try:
        assert (
            await refused(*(reserved(budget(db, caps, account)) for _ in range(10) for db in (pool, elsewhere))) == 13
        )
    finally:
        await elsewhere.close()


@pytest.mark.parametrize("kind", ["input_tokens", "cache_write_tokens"])
async def test_a_reservation_assumes_the_higher_price_of_a_cached_prompt(
    pool: asyncpg.Pool, make_account: Account, kind: str
) -> None:
    def price(_model: str, usage: Usage) -> int:
        return 3 * MICROS if getattr(usage, kind) else MICROS

    of = CostBudget(pool, CostCaps(account_day=2 * MICROS), price, Purpose("chapter", await make_account()))

    assert await refused(reserved(of)) == 1


async def test_a_call_that_costs_less_than_reserved_frees_the_difference(
    pool: asyncpg.Pool, make_account: Account
) -> None:
    of = budget(pool, CostCaps(account_day=2 * MICROS), await make_account())
    first, _ = await reserved(of), await reserved(of)
    assert await refused(reserved(of)) == 1

    await entered(of, first, 0)

    assert await refused(reserved(of)) == 0


async def test_a_call_that_is_not_charged_frees_its_reservation(pool: asyncpg.Pool, make_account: Account) -> None:
    of = budget(pool, CostCaps(account_day=MICROS), await make_account())
    await of.release(await reserved(of))

    assert await refused(reserved(of)) == 0


async def test_the_reservation_of_a_call_that_never_ended_counts_until_the_end_of_its_day(
    pool: asyncpg.Pool, make_account: Account
) -> None:
    of = budget(pool, CostCaps(account_day=MICROS), await make_account())
    await reserved(of)
    with pytest.raises(CostCapReached) as full:
        await reserved(of)
    assert full.value.retryable
    assert str(full.value) == (
        "Today's cost cap of this account (BOOKGEN_ACCOUNT_DAILY_COST_CAP) is reached: 0.00 of 1.00 USD spent, 1.00 "
        "reserved for calls in progress, and the next call may cost up to 1.00."
    )

    await pool.execute("UPDATE cost_reservation SET created_at = created_at - interval '1 day'")

    assert await refused(reserved(of)) == 0


async def test_a_call_over_midnight_counts_for_the_day_of_its_reservation(
    pool: asyncpg.Pool, make_account: Account
) -> None:
    of = budget(pool, CostCaps(account_day=MICROS), await make_account())
    call_id = await reserved(of)
    await pool.execute("UPDATE cost_reservation SET created_at = created_at - interval '1 day'")

    await entered(of, call_id, MICROS)

    assert await pool.fetchval("SELECT now() - created_at >= interval '1 day' FROM model_call")
    assert await refused(reserved(of)) == 0


async def test_repeating_a_reservation_reserves_once(pool: asyncpg.Pool, make_account: Account) -> None:
    of, call_id = budget(pool, CostCaps(account_day=2 * MICROS), await make_account()), uuid4()
    for _ in range(3):
        await of.reserve(call_id, MODEL, ANY)

    assert await pool.fetchval("SELECT sum(cost_micros) FROM cost_reservation") == MICROS


async def test_reservations_of_one_account_do_not_affect_another(pool: asyncpg.Pool, make_account: Account) -> None:
    caps = CostCaps(account_day=MICROS, day=3 * MICROS)
    accounts = [await make_account(), await make_account(), None]

    assert await refused(*(reserved(budget(pool, caps, account)) for account in accounts)) == 0
    assert await refused(*(reserved(budget(pool, caps, account)) for account in accounts)) == 3


async def test_the_cost_of_a_day_counts_every_call_once(pool: asyncpg.Pool, make_account: Account) -> None:
    of = budget(pool, CostCaps(day=313), await make_account(), cost=1)
    await pool.execute(ENTERED, 250, 0)
    await pool.execute(ENTERED, 1, 1)
    await reserved(of)
    assert await pool.fetchval("SELECT sum(cost_micros)::int FROM day_cost") == 250
    await pool.execute(ENTERED, 60, 0)

    assert await refused(*(reserved(of) for _ in range(5))) == 4


async def test_a_model_without_a_price_is_stopped_once_a_cap_is_used_up(
    pool: asyncpg.Pool, make_account: Account
) -> None:
    account = await make_account()
    of = CostBudget(pool, CostCaps(account_day=MICROS), lambda _model, _usage: None, Purpose("chapter", account))
    await reserved(of)
    await entered(of, uuid4(), MICROS)

    with pytest.raises(CostCapReached) as spent:
        await reserved(of)
    assert str(spent.value) == (
        "Today's cost cap of this account (BOOKGEN_ACCOUNT_DAILY_COST_CAP) is reached: 1.00 of 1.00 USD spent."
    )
