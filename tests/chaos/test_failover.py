"""The primary dies and its synchronous standby takes over while books are written, with and without a pooler.

CHAOS_FAILOVERS=20 CHAOS_FAILOVER_BOOKS=200 CHAOS_FAILOVER_CALL=60 is the long run: failovers, books in flight at each,
seconds of a model call.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bookgen.errors import Unavailable
from bookgen.store.database import open_pool
from tests.chaos.calls import HeardCalls
from tests.chaos.process import Process
from tests.chaos.replicated import NAME, ReplicatedPostgres, replicated_postgres
from tests.chaos.traffic import IN_FLIGHT, Traffic
from tests.chaos.world import AT_REST, INVARIANTS, World
from tests.fakes.model_server import ModelServer
from tests.pgbouncer import Pooler, running_pooler

FAILOVERS = int(os.environ.get("CHAOS_FAILOVERS", "1"))
BOOKS = int(os.environ.get("CHAOS_FAILOVER_BOOKS", "10"))
CALL_SECONDS = float(os.environ.get("CHAOS_FAILOVER_CALL", "1"))
# More than the target, because an account whose book was just finished has nothing in flight until its next one starts.
AUTHORS = BOOKS + BOOKS // 5 + 2
CHAPTERS = 3
PROCESSES = 2
HANDS, REST = 16, 1.0
REST_SECONDS = (1.0, 4.0)  # between two failovers, once the standby is in sync
GO_ON_SECONDS = 30.0
POOLER = "default_pool_size = 20\nserver_login_retry = 1"

RUNNING = "SELECT id, book_id, call_no FROM run WHERE status = 'running'"
LEASES = "SELECT boot_id, lease_until FROM process WHERE lease_until > now()"
ENOUGH = f"SELECT cardinality(ARRAY({IN_FLIGHT})) >= $1"


@dataclass(frozen=True, slots=True)
class Failover:
    """Seconds from the end of the primary.

    `waiting`: runs that were between two model calls at that moment. `held_up`: those that were so at any moment until
    both processes were back. The calls of all others were under way all the time.
    """

    waiting: int
    held_up: int
    promoted: float
    served: float
    all_on: float

    def __str__(self) -> str:
        return (
            f"the standby took writes after {self.promoted:.1f} s, both processes served and held their leases after "
            f"{self.served:.1f} s, all runs went on after {self.all_on:.1f} s ({self.held_up} were held up between two "
            f"calls; {self.waiting} were between two calls before)"
        )


@dataclass
class FailoverWorld:
    """What is failed over, and everything that uses it."""

    pair: ReplicatedPostgres
    pooler: Pooler | None
    world: World
    processes: list[Process] = field(default_factory=list)

    async def serve(self) -> None:
        """Start the service's processes."""
        settings = {"BOOKGEN_CHAPTERS_AT_ONCE": str(AUTHORS), "BOOKGEN_MODEL_CONCURRENCY": str(2 * AUTHORS)}
        if self.pooler:
            settings |= {
                "BOOKGEN_DATABASE_URL": self.pooler.dsn,
                "BOOKGEN_DATABASE_DIRECT_URL": self.pair.url,
                "BOOKGEN_DATABASE_STATEMENT_CACHE": "off",
            }
        self.processes = [await self.world.serve(**settings) for _ in range(PROCESSES)]

    async def fail_over(self) -> Failover:
        """Fail over, and wait until every run goes on."""
        waiting = len(await self._waiting(None))
        began = time.monotonic()
        leases = {row["boot_id"]: row["lease_until"] for row in await self.world.pool.fetch(LEASES)}
        await self.pair.fail_over()
        if self.pooler:
            await self.pooler.lead_to(self.pair.primary.dsn_of(NAME, NAME))
        promoted = time.monotonic() - began
        before = {row["id"]: row["call_no"] for row in await self._read(RUNNING)}
        held_up = set[object]()
        while not await self._leases_renewed(leases):
            held_up |= set(await self._waiting(before))
            await asyncio.sleep(0.05)
        served = time.monotonic() - began
        while held_up & set(await self._waiting(before)):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.05)
        return Failover(waiting, len(held_up), promoted, served, time.monotonic() - began)

    async def _waiting(self, before: dict[object, object] | None) -> list[object]:
        """The runs that have made no progress since `before`, if given, and have no model call under way."""
        calling = {call.brief.get("title") for call in self.world.model.requests if not call.ended}
        return [
            run["id"]
            for run in await self._read(RUNNING)
            if (before is None or before.get(run["id"]) == run["call_no"]) and f"Book {run['book_id']}" not in calling
        ]

    async def _leases_renewed(self, before: dict[object, object]) -> bool:
        """Whether every process has written since: commands are taken, and its runs stay with it."""
        renewed = [row for row in await self._read(LEASES) if before.get(row["boot_id"]) != row["lease_until"]]
        ready = [await self.world.readiness(process) for process in self.processes]
        return len(renewed) == PROCESSES and ready == ["ready"] * PROCESSES

    async def _read(self, sql: str) -> list[dict[str, object]]:
        while True:
            try:
                return [dict(row) for row in await self.world.pool.fetch(sql)]
            except Unavailable:
                await asyncio.sleep(0.05)


@asynccontextmanager
async def setting(way: str, folder: Path) -> AsyncIterator[FailoverWorld]:
    async with AsyncExitStack() as stack:
        pair = await stack.enter_async_context(replicated_postgres())
        model = await stack.enter_async_context(ModelServer())
        pooler = None
        if way == "pgbouncer":
            pooler = await stack.enter_async_context(running_pooler(pair.primary.dsn_of(NAME, NAME), POOLER))
        pool = await open_pool(pair.url, size=HANDS)
        world = World(pool, pair.url, model, folder)
        stack.callback(pool.terminate)
        stack.push_async_callback(world.close)
        yield FailoverWorld(pair, pooler, world)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "way",
    ["several hosts", pytest.param("pgbouncer", marks=[pytest.mark.long, pytest.mark.checker("pgbouncer")])],
)
async def test_a_failover_loses_no_answered_command_and_no_chapter(
    way: str, dice: random.Random, tmp_path: Path
) -> None:
    async with setting(way, tmp_path) as fleet:
        world = fleet.world
        await fleet.serve()
        await world.pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
        writers = [await world.author() for _ in range(AUTHORS)]
        calls = HeardCalls(world, forgets=True, counts_only=True)
        traffic = Traffic(
            world, dice, writers, CHAPTERS, hands=HANDS, ahead=1, rest=REST, blurb="A ferry.", calls=calls
        )
        traffic.meet(*fleet.processes)
        world.model.configure(delay=CALL_SECONDS)
        await traffic.start()
        authors, watch = asyncio.ensure_future(traffic.run()), asyncio.ensure_future(traffic.watch())
        took = list[float]()
        for number in range(FAILOVERS):
            await asyncio.sleep(dice.uniform(*REST_SECONDS))
            await world.until(ENOUGH, BOOKS)
            await traffic.note_hit()
            world.kills += 1
            outage = await fleet.fail_over()
            await traffic.note_hit()
            took.append(outage.all_on)
            async with traffic.at_rest():
                await traffic.compare()
            assert not authors.done(), authors.result()
            assert not watch.done(), watch.result()
            print(f"{way}, failover {number + 1}: {outage}; load {os.getloadavg()[0]:.1f}", flush=True)
            await fleet.pair.add_standby()

        traffic.finish()
        world.model.configure(delay=0.2)
        await authors
        watch.cancel()
        await traffic.at_the_end()
        await world.check_rows(INVARIANTS | AT_REST)
        lost = sum(process.log.count('"event":"lease_lost"') for process in fleet.processes)
        went_on = f"all runs went on after {min(took):.1f} to {max(took):.1f} s"
        print(f"{way}: {traffic.figures()}; {went_on}; {lost} leases lost", flush=True)
        assert traffic.least_in_flight >= BOOKS
        assert max(took) <= GO_ON_SECONDS, took
