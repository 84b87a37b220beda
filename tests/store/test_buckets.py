"""Token buckets in the database fill by their rate, and never beyond their capacity."""

from __future__ import annotations

import asyncpg
import pytest

from bookgen.store import buckets

ADD_ACCOUNT = "INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id"
RATE = 0.01  # a token in 100 s, so that a slow machine makes no difference
EMPTIED = "UPDATE {} SET tokens = 2, touched_at = clock_timestamp() - $1 * interval '1 second'"


@pytest.mark.parametrize(("seconds", "left"), [(300, 4), (100_000, 9)])
async def test_a_bucket_fills_by_its_rate_up_to_its_capacity(pool: asyncpg.Pool, seconds: int, left: int) -> None:
    account = await pool.fetchval(ADD_ACCOUNT)
    await buckets.take(pool, account, "write", capacity=10, rate=RATE)
    await buckets.take_from(pool, "auth", "192.0.2.1", capacity=10, rate=RATE)
    for table in ("rate_bucket", "caller_bucket"):
        await pool.execute(EMPTIED.format(table), seconds)

    of_account = await buckets.take(pool, account, "write", capacity=10, rate=RATE)
    of_caller = await buckets.take_from(pool, "auth", "192.0.2.1", capacity=10, rate=RATE)

    expected = (True, pytest.approx(left, abs=0.5))
    assert (of_account, of_caller) == (expected, expected)
