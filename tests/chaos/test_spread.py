"""Three `bookgen serve` on one database share their runs evenly again after one of them fails.

SPREAD_RUNS=300 writes this many books at once and prints how many each process has.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.chaos.process import Process
from tests.chaos.world import World

RUNS = int(os.environ.get("SPREAD_RUNS", "30"))
PROCESSES = 3
MOST = 1.5 * RUNS / PROCESSES
SECONDS = 30.0  # until no process has this many
SPREAD = """
    SELECT coalesce(array_agg(runs ORDER BY runs), '{}')
      FROM (SELECT count(r.id) AS runs
              FROM process p LEFT JOIN run r ON r.owner = p.boot_id AND r.status = 'running'
             WHERE p.lease_until > now() AND NOT p.draining
             GROUP BY p.boot_id) AS of_process
"""
TAKEN_FROM = """
    SELECT NOT EXISTS (SELECT FROM run r JOIN process p ON p.boot_id = r.owner
                        WHERE p.pid = $1 AND r.status = 'running')
"""


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_runs_are_spread_evenly_after_a_kill_and_a_freeze_and_a_rolling_update(world: World) -> None:
    settings = {"BOOKGEN_CHAPTERS_AT_ONCE": str(RUNS), "BOOKGEN_MODEL_CONCURRENCY": str(RUNS)}
    processes = [await world.serve(**settings) for _ in range(PROCESSES)]
    world.model.configure(delay=2.0)
    for number in range(RUNS):
        author = await world.author()
        await world.generate(processes[number % PROCESSES], author, await world.book(author, chapters=100, words=60))

    await world.kill(processes[0])
    processes[0] = await world.serve(**settings)
    await shared(world, "killed")

    frozen = processes[1]
    frozen.freeze()
    await world.until(TAKEN_FROM, frozen.pid)
    frozen.wake()
    await shared(world, "frozen")

    for number, former in enumerate(processes):
        processes[number] = await rolled(world, former, settings)
    await shared(world, "rolled")

    assert await world.value("SELECT count(*) FROM run WHERE status = 'running'") == RUNS


async def rolled(world: World, former: Process, settings: dict[str, str]) -> Process:
    """A process that replaces one that is being stopped."""
    process = await world.serve(**settings)
    assert await former.stop() == 0
    return process


async def shared(world: World, after: str) -> None:
    """Wait until no process has more than one and a half times its share."""
    async with asyncio.timeout(SECONDS):
        while not is_shared(spread := await world.value(SPREAD)):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.02)
    print(f"after a process was {after}: {spread} of {RUNS} runs")


def is_shared(spread: list[int]) -> bool:
    return len(spread) == PROCESSES and sum(spread) == RUNS and max(spread) < MOST
