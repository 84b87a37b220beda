"""kill -9 at moments that nobody chose, with fifty books in flight: the headline of this service."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from tests.chaos.process import Process
from tests.chaos.traffic import Traffic
from tests.chaos.world import World

FLIGHTS = 50
CHAPTERS = 4
# Counted from the start of a process, so some are killed while they start and take over.
LIFE_SECONDS = (0.0, 5.0)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("provider", ["anthropic:claude-sonnet-4-5", "openai:gpt-5"])
async def test_random_kills_lose_nothing(world: World, dice: random.Random, provider: str, kills: int) -> None:
    world.provider = provider
    world.model.configure(delay=0.4)
    await world.pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
    traffic = Traffic(world, dice, [await world.author() for _ in range(FLIGHTS)], CHAPTERS)
    process = await world.serve()
    traffic.meet(process)
    await traffic.start()
    authors = asyncio.ensure_future(traffic.run())
    starting = 0
    for _ in range(kills):
        await live(process, dice.uniform(*LIFE_SECONDS))
        starting += not process.url
        await world.kill(process)
        await traffic.after_kill()
        assert not authors.done(), authors.result()
        process = await world.serve(wait=False)
        traffic.meet(process)
    await process.until_ready()
    traffic.finish()
    await authors
    await traffic.at_the_end()
    await world.check(running_books=FLIGHTS)
    assert traffic.least_in_flight >= FLIGHTS
    print(f"{provider}: {traffic.figures()}; {starting} of the kills hit a process that was starting")


async def live(process: Process, seconds: float) -> None:
    """Lets it be for so long, whether it gets ready or not."""
    end = asyncio.get_running_loop().time() + seconds
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(end):
            await process.until_ready()
            await asyncio.sleep(seconds)
