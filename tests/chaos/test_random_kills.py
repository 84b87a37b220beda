"""`kill -9` at random moments with fifty books in flight: the central promise of this service."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from tests.chaos.calls import HeardCalls
from tests.chaos.process import Process
from tests.chaos.traffic import Traffic
from tests.chaos.world import WILL_SURVIVE, World

FLIGHTS = 50
# More than the target, because an account whose slot was just freed has nothing in flight until its next book starts.
AUTHORS = 60
CHAPTERS = 4
# How long a process lives once it is ready. About every fifth is killed earlier, while it starts and takes over.
LIFE_SECONDS = 4.0
START_SECONDS = 3.0


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("provider", ["anthropic:claude-sonnet-4-5", "openai:gpt-5"])
async def test_random_kills_lose_nothing(world: World, dice: random.Random, provider: str, kills: int) -> None:
    world.provider = provider
    world.model.configure(delay=0.4)
    await world.pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
    traffic = Traffic(world, dice, [await world.author() for _ in range(AUTHORS)], CHAPTERS, calls=HeardCalls(world))
    process = await world.serve()
    traffic.meet(process)
    await traffic.start()
    authors = asyncio.ensure_future(traffic.run())
    starting = 0
    for _ in range(kills):
        await live(process, dice)
        await world.until(WILL_SURVIVE, seconds=600)
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
    await world.check()
    assert traffic.least_in_flight >= FLIGHTS
    print(f"{provider}: {traffic.figures()}; {starting} of the kills hit a process that was starting")


async def live(process: Process, dice: random.Random) -> None:
    """Run until the process is killed."""
    if dice.random() < 0.2:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(dice.uniform(0.0, START_SECONDS)):
                await process.until_ready()
    else:
        await process.until_ready()
        await asyncio.sleep(dice.uniform(0.0, LIFE_SECONDS))
