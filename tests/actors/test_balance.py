"""Runs are spread evenly over the live processes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bookgen.actors.messages import Generate
from bookgen.actors.supervisor import Supervisor
from bookgen.store import ownership

from .conftest import Model, Shelf, Start

OWNED = "SELECT count(*) FROM run WHERE owner = $1 AND status = 'running'"


async def spread(shelf: Shelf, processes: Sequence[Supervisor]) -> list[int]:
    return [await shelf.value(OWNED, process.resources.boot_id) for process in processes]


async def fill(shelf: Shelf, process: Supervisor, books: int) -> list[int]:
    pairs = [await shelf.outlined(chapters=2) for _ in range(books)]
    for pair in pairs:
        await process.ask(*pair, Generate())
    return [book for _, book in pairs]


@pytest.mark.parametrize("surge", [False, True])
async def test_a_rolling_update_leaves_runs_spread_evenly(start: Start, shelf: Shelf, surge: bool) -> None:
    processes = [await start() for _ in range(3)]
    for process in processes:
        await fill(shelf, process, 4)

    for number, former in enumerate(processes):
        if surge:
            processes[number] = await start()
        await former.drain(0)
        if not surge:
            processes[number] = await start()
        for process in processes:
            await process.sweep()

    assert await spread(shelf, processes) == [4, 4, 4]


async def test_a_process_with_more_than_its_share_of_runs_hands_some_over_between_chapters(
    start: Start, model: Model, shelf: Shelf
) -> None:
    first = await start()
    books = await fill(shelf, first, 9)
    for book in books:
        await model.wait_until_asked(book, 1)
    processes = [first, await start(), await start()]
    assert await spread(shelf, processes) == [9, 0, 0]

    await first.sweep()
    for book in books:
        model.answer(book, 1)
        await shelf.until("SELECT done = 1 FROM run WHERE book_id = $1", book)
    await shelf.until("SELECT count(*) = 5 FROM run WHERE owner IS NULL")
    for process in processes:
        await process.sweep()

    assert await spread(shelf, processes) == [4, 3, 2]
    for book in books:
        await model.wait_until_asked(book, 2)
    assert max(model.asked.values()) == 1
    assert await shelf.value("SELECT max(crash_count) FROM run") == 0


async def test_chapters_that_end_together_hand_over_no_more_than_the_surplus(
    start: Start, model: Model, shelf: Shelf
) -> None:
    process = await start()
    for book in await fill(shelf, process, 3):
        await model.wait_until_asked(book, 1)
    written = await ownership.owned(shelf.pool, process.resources.boot_id)
    process.runs_in_flight.surplus = 1

    handed = await asyncio.gather(*map(process.runs_in_flight.hand_over, written))

    assert handed.count(True) == 1
    assert await spread(shelf, [process]) == [2]
