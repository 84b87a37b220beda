"""Temporary errors are retried, and permanent ones are raised at once."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from bookgen.errors import Unavailable
from bookgen.store.outages import is_transient, through_outages


async def test_an_operation_is_retried_while_the_database_is_down() -> None:
    answers: list[Exception | int] = [ConnectionRefusedError(), Unavailable(), asyncpg.CannotConnectNowError(), 42]

    async def operation() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await through_outages(operation) == 42


async def test_a_long_outage_is_raised_at_the_deadline_and_a_bug_at_once() -> None:
    async def away() -> None:
        raise ConnectionRefusedError

    async def broken() -> None:
        raise asyncpg.UndefinedTableError

    with pytest.raises(Unavailable):
        await through_outages(away, seconds=0)
    with pytest.raises(asyncpg.UndefinedTableError):
        await through_outages(broken)


OURS = ["21000", "22001", "22P05", "23505", "25001", "26000", "34000", "42P01", "42703", "44000", "54000", "P0001"]
PASSING = ["08006", "25006", "40001", "40P01", "53100", "53200", "53300", "53400", "55P03", "57014", "57P01",
           "57P02", "57P03", "57P05", "58030", "XX000", "XX001"]  # fmt: skip


@pytest.mark.parametrize("state", OURS)
def test_a_permanent_error_is_not_retried(state: str) -> None:
    assert not is_transient(asyncpg.PostgresError.new({"C": state, "M": "It failed."}))


@pytest.mark.parametrize("state", PASSING)
def test_every_other_error_is_temporary(state: str) -> None:
    assert is_transient(asyncpg.PostgresError.new({"C": state, "M": "It failed."}))


async def test_a_cancellation_replaced_by_an_error_still_ends_the_wait() -> None:
    begun = asyncio.Event()

    async def operation() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:  # like a connection that cannot be returned because its network is cut
            raise TimeoutError

    waiting = asyncio.create_task(through_outages(operation))
    await begun.wait()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 5.0)


async def test_a_cancelled_task_still_stores_its_result() -> None:
    begun, answers = asyncio.Event(), [Unavailable(), 42]

    async def store() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work() -> int:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await through_outages(store)
        return 0

    working = asyncio.create_task(work())
    await begun.wait()
    working.cancel()

    assert await working == 42
