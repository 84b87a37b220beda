"""Limits that protect passwords and money are shared by all processes."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from bookgen.rate_limits import Budget, LimitClass
from bookgen.store import buckets, retention
from bookgen.store.database import Database
from tests.accounts.door import PASSWORD, Door, opened

WRONG = {"username": "ada", "password": "a wrong guess"}


async def test_password_guesses_are_counted_across_processes(database: Database, tmp_path: Path) -> None:
    rate = {"rate_auth": "3/hour"}
    async with opened(database, tmp_path, **rate) as one, opened(database, tmp_path, **rate) as other:
        await one.register("ada")

        outcomes = [await _sign_in(door, f"198.51.100.{n}") for n, door in enumerate((one, other, one, other, one))]

    assert outcomes == [401, 401, 401, 429, 429]


async def test_a_correct_password_gives_the_guess_back_in_every_process(database: Database, tmp_path: Path) -> None:
    rate = {"rate_auth": "3/hour"}
    right = {"username": "ada", "password": PASSWORD}
    async with opened(database, tmp_path, **rate) as one, opened(database, tmp_path, **rate) as other:
        await one.register("ada")
        for number, door in enumerate((one, other, one, other)):
            headers = {"X-Forwarded-For": f"198.51.100.{number}"}
            assert (await door.post("/auth/login/", right, headers=headers))[0] == 200

        assert await _sign_in(other, "198.51.100.9") == 401


async def test_sign_ins_from_an_address_are_counted_across_processes(database: Database, tmp_path: Path) -> None:
    rate = {"rate_auth": "3/hour"}
    async with opened(database, tmp_path, **rate) as one, opened(database, tmp_path, **rate) as other:
        outcomes = [await _sign_in(door, "198.51.100.7") for door in (one, other, one, other, one)]

    assert outcomes == [401, 401, 401, 429, 429]


async def test_other_calls_without_a_token_are_counted_by_each_process_alone(door: Door) -> None:
    await door.call("GET", "/auth/subscriptions/plans/")

    assert await door.database.http.fetchval("SELECT count(*) FROM caller_bucket") == 0


async def test_the_full_bucket_of_a_caller_is_deleted(pool: asyncpg.Pool) -> None:
    bucket = {"capacity": 2, "rate": Budget(2, 3600).rate}
    await buckets.take_from(pool, LimitClass.AUTH, "198.51.100.1", **bucket)
    await pool.execute("UPDATE caller_bucket SET full_at = full_at - interval '31 minutes'")
    await buckets.take_from(pool, LimitClass.AUTH, "198.51.100.2", **bucket)

    await retention.delete_old_rows(pool)

    assert [row["caller"] for row in await pool.fetch("SELECT caller FROM caller_bucket")] == ["198.51.100.2"]


async def test_a_bucket_that_is_not_full_is_kept(pool: asyncpg.Pool) -> None:
    budget = Budget(2, 3600)
    for _ in range(3):
        allowed, _ = await buckets.take_from(pool, "guesses", "1 ", capacity=2, rate=budget.rate)

    await retention.delete_old_rows(pool)

    assert not allowed
    assert not (await buckets.take_from(pool, "guesses", "1 ", capacity=2, rate=budget.rate))[0]
    await buckets.give_back(pool, "guesses", "1 ", capacity=2)
    assert (await buckets.take_from(pool, "guesses", "1 ", capacity=2, rate=budget.rate))[0]


async def _sign_in(door: Door, address: str) -> int:
    status, _ = await door.post("/auth/login/", WRONG, headers={"X-Forwarded-For": address})
    return status
