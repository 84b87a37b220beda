"""Writes of different books share a transaction, and no book pays for another's bad row."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.actors.batches import AT_ONCE, Batches
from bookgen.errors import Unavailable


@dataclass(frozen=True)
class SentRow:
    run_id: UUID = field(default_factory=uuid4)


class SlowTable:
    """Holds every write back until `open` is set; refuses what it is told to."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.busy = asyncio.Event()
        self.batches: list[int] = []
        self.refused: set[SentRow] = set()
        self.fenced: set[SentRow] = set()
        self.locked: set[SentRow] = set()
        self.away = False

    async def write(self, rows: Sequence[SentRow]) -> Mapping[UUID, str]:
        self.batches.append(len(rows))
        if len(self.batches) == AT_ONCE:
            self.busy.set()
        await self.open.wait()
        if self.away:
            raise Unavailable
        if self.locked.intersection(rows):
            raise Unavailable from asyncpg.LockNotAvailableError()
        if self.refused.intersection(rows):
            raise ValueError("not this one")
        return {row.run_id: "saved" for row in rows if row not in self.fenced}


def batches(table: SlowTable) -> Batches[SentRow, str]:
    return Batches(table.write, attrgetter("run_id"), 16)


async def test_what_waits_together_is_written_together() -> None:
    table = SlowTable()
    commits = batches(table)
    answers = [asyncio.ensure_future(commits.submit(SentRow())) for _ in range(16 * AT_ONCE + 40)]
    await table.busy.wait()
    table.open.set()

    assert set(await asyncio.gather(*answers)) == {"saved"}
    assert table.batches[AT_ONCE:] == [16, 16, 8]


async def test_a_refused_row_fails_alone_and_a_fenced_one_hears_of_it() -> None:
    table, bad, late = SlowTable(), SentRow(), SentRow()
    table.refused, table.fenced = {bad}, {late}
    commits = batches(table)
    filler = [asyncio.ensure_future(commits.submit(SentRow())) for _ in range(16 * AT_ONCE)]
    others = [asyncio.ensure_future(commits.submit(row)) for row in (SentRow(), bad, late, SentRow())]
    await table.busy.wait()
    table.open.set()

    outcomes = await asyncio.gather(*others, return_exceptions=True)
    await asyncio.gather(*filler)
    assert outcomes[0] == outcomes[3] == "saved"
    assert isinstance(outcomes[1], ValueError)
    assert outcomes[2] is None


async def test_a_row_that_is_locked_keeps_no_other_from_being_written() -> None:
    table, locked = SlowTable(), SentRow()
    table.locked = {locked}
    commits = batches(table)
    filler = [asyncio.ensure_future(commits.submit(SentRow())) for _ in range(16 * AT_ONCE)]
    others = [asyncio.ensure_future(commits.submit(row)) for row in (SentRow(), locked, SentRow())]
    await table.busy.wait()
    table.open.set()

    outcomes = await asyncio.gather(*others, return_exceptions=True)
    await asyncio.gather(*filler)
    assert outcomes[0] == outcomes[2] == "saved"
    assert isinstance(outcomes[1], Unavailable)


async def test_an_outage_is_heard_by_everybody_who_waits() -> None:
    table = SlowTable()
    table.away = True
    table.open.set()
    commits = batches(table)

    outcomes = await asyncio.gather(*(commits.submit(SentRow()) for _ in range(20)), return_exceptions=True)

    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)


async def test_idle_it_has_no_task() -> None:
    table = SlowTable()
    table.open.set()
    before = len(asyncio.all_tasks())
    commits = batches(table)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.gather(commits.submit(SentRow()), asyncio.Event().wait())

    assert len(asyncio.all_tasks()) == before


async def test_whoever_asks_is_answered_by_what_began_after_that() -> None:
    table = SlowTable()
    commits = batches(table)
    under_way = [asyncio.ensure_future(commits.submit(SentRow())) for _ in range(16 * AT_ONCE)]
    await table.busy.wait()
    late = asyncio.ensure_future(commits.submit(SentRow()))
    table.open.set()
    await asyncio.gather(late, *under_way)

    assert table.batches == [16] * AT_ONCE + [1]
