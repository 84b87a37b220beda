"""Two web processes and two actors write many books on one PostgreSQL, and one after the other is killed.

CHAOS_FLEET_BOOKS=2000 CHAOS_FLEET_CALL=240 CHAOS_FLEET_KILLS=30 CHAOS_FLEET_LIFE=20 is the long run: books in flight,
seconds of a model call, kills, seconds between two of them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bench.service.model_process import ModelProcess, model_process
from bookgen.store.database import open_pool
from tests.chaos.fleet import Fleet
from tests.chaos.replicated import NAME, PostgresServer, one_server
from tests.chaos.traffic import IN_FLIGHT, Traffic
from tests.chaos.world import AT_REST, INVARIANTS, UNWRITTEN, Author, World
from tests.fakes.model_server import ModelServer

BOOKS = int(os.environ.get("CHAOS_FLEET_BOOKS", "40"))
CALL_SECONDS = float(os.environ.get("CHAOS_FLEET_CALL", "1"))
KILLS = int(os.environ.get("CHAOS_FLEET_KILLS", "1"))
LIFE_SECONDS = float(os.environ.get("CHAOS_FLEET_LIFE", "2"))
# More than the target, because an author whose book was just finished has none in flight until the next one starts.
AUTHORS = BOOKS + BOOKS // 20 + 2
CHAPTERS = 3
HANDS = 32
ENOUGH = f"SELECT cardinality(ARRAY({IN_FLIGHT})) >= $1"
MORE_WRITTEN = "SELECT count(*) >= $1 FROM chapter WHERE content <> ''"
GO_ON_SECONDS = 120.0
# No process has much more than its share: a surplus of up to a quarter is kept.
EVEN_SHARE = 1.25 * AUTHORS / 2 + 2
EVEN_SECONDS = 30.0 + 2 * CALL_SECONDS  # a process hands over runs between two chapters


@asynccontextmanager
async def begun(folder: Path) -> AsyncIterator[tuple[World, Fleet, ModelProcess]]:
    """A running fleet on an own server, with a model of the bench, whose calls cost next to nothing."""
    async with AsyncExitStack() as stack:
        server: PostgresServer = await stack.enter_async_context(one_server())
        model = await stack.enter_async_context(model_process(ms=CALL_SECONDS * 1000))
        unused = await stack.enter_async_context(ModelServer())
        await server.value_of(NAME, "CREATE EXTENSION pg_stat_statements")
        pool = await open_pool(server.dsn, size=HANDS)
        stack.callback(pool.terminate)
        world = World(pool, server.dsn_of(NAME, NAME), unused, folder)
        stack.push_async_callback(world.close)
        at_once = {"BOOKGEN_CHAPTERS_AT_ONCE": str(AUTHORS), "BOOKGEN_MODEL_CONCURRENCY": str(2 * AUTHORS)}
        fleet = Fleet(world, server, model.settings | at_once)
        await fleet.serve()
        yield world, fleet, model


@pytest.mark.timeout(7200)
async def test_a_fleet_loses_and_doubles_nothing_while_its_processes_are_killed(
    dice: random.Random, tmp_path: Path
) -> None:
    async with begun(tmp_path) as (world, fleet, model):
        await world.pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
        writers = list[Author]()
        while len(writers) < AUTHORS:
            writers += await asyncio.gather(*(world.author() for _ in range(HANDS)))
        traffic = Traffic(world, dice, writers, CHAPTERS, hands=HANDS, ahead=1, rest=1.0, blurb="A ferry.")
        traffic.meet(*fleet.web)
        traffic.steers = False
        authors = asyncio.ensure_future(traffic.run())
        await world.until(ENOUGH, BOOKS, seconds=1200)
        print(
            f"{BOOKS} books in flight, calls of {CALL_SECONDS:g} s, {(await model.stats())['in_flight']} at the model"
        )

        began = await fleet.odometer()
        await world.until(MORE_WRITTEN, began.chapters + BOOKS, seconds=1200)
        calm = await fleet.odometer()
        connections = [await fleet.connections()]
        print(f"without kills: {calm.since(began)}; {connections[0]} connections", flush=True)

        traffic.steers = True
        killed = await kill_in_turn(world, fleet, traffic, dice, authors, connections)
        await even(fleet)
        traffic.finish()
        await model.answer_within(ms=500)
        await authors
        await traffic.at_the_end()
        await world.check_rows(INVARIANTS | AT_REST)
        paid, stats = await world.value("SELECT count(*) FROM model_call"), await model.stats()
        assert paid <= stats["calls"]
        print(
            f"{traffic.figures()}; killed: {dict(killed)}; {stats['calls']} model calls, of which {stats['cut']} were "
            f"cut off and {paid} are in the ledger; at most {max(connections)} connections; load {load()}"
        )


async def kill_in_turn(
    world: World,
    fleet: Fleet,
    traffic: Traffic,
    dice: random.Random,
    authors: asyncio.Future[None],
    connections: list[int],
) -> Counter[str]:
    """Kill a process every LIFE_SECONDS and compare the database with the answers. Returns the kills by role."""
    clock = asyncio.get_running_loop().time
    killed = Counter[str]()
    for number in range(KILLS):
        next_at = clock() + LIFE_SECONDS
        before = await fleet.spread()
        async with traffic.at_rest():
            await traffic.note_hit()
        role = await fleet.kill_one(dice)
        killed[role] += 1
        traffic.meet(*fleet.web)
        connections.append(await fleet.connections())
        async with traffic.at_rest():
            await traffic.compare()
        assert not authors.done(), authors.result()
        print(
            f"kill {number + 1}: {role}, when the runs were spread {before}; load {os.getloadavg()[0]:.1f}", flush=True
        )
        await asyncio.sleep(max(0.0, next_at - clock()))
    await world.until(f"SELECT NOT EXISTS ({UNWRITTEN})", seconds=GO_ON_SECONDS)
    return killed


async def even(fleet: Fleet) -> None:
    """Wait until no process has more than its share, or fail."""
    async with asyncio.timeout(EVEN_SECONDS):
        while max(await fleet.spread(), default=0) > EVEN_SHARE:  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.2)
    print(f"after the last kill the runs are spread {await fleet.spread()}", flush=True)


def load() -> str:
    """The load of the machine in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"
