"""What passes by itself is waited out; what does not is told at once."""

from __future__ import annotations

import asyncpg
import pytest

from bookgen.errors import Unavailable
from bookgen.store.outages import through_outages


async def test_an_operation_is_begun_again_while_the_database_is_away() -> None:
    answers: list[Exception | int] = [ConnectionRefusedError(), Unavailable(), asyncpg.CannotConnectNowError(), 42]

    async def operation() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await through_outages(operation) == 42


async def test_an_outage_that_lasts_is_told_in_the_end_and_a_bug_at_once() -> None:
    async def away() -> None:
        raise ConnectionRefusedError

    async def broken() -> None:
        raise asyncpg.UndefinedTableError

    with pytest.raises(Unavailable):
        await through_outages(away, seconds=0)
    with pytest.raises(asyncpg.UndefinedTableError):
        await through_outages(broken)
