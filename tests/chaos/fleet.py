"""Two web processes and two actors on one PostgreSQL: started, killed and replaced, and what they ask of the server."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from dataclasses import dataclass

from bench.service.machine import cpu_seconds
from tests.chaos.process import Process
from tests.chaos.replicated import PostgresServer
from tests.chaos.world import World

ROLES = ("web", "web", "actors", "actors")
SPREAD = """
    SELECT coalesce(array_agg(runs ORDER BY runs), '{}')
      FROM (SELECT count(r.id) AS runs
              FROM process p LEFT JOIN run r ON r.owner = p.boot_id AND r.status = 'running'
             WHERE p.lease_until > now() AND NOT p.draining AND p.role <> 'web'
             GROUP BY p.boot_id) AS of_process
"""
# A run survives two deaths of its process in a row. The third must not come before it has made progress.
WOULD_SURVIVE = """
    SELECT NOT EXISTS (SELECT FROM run r JOIN process p ON p.boot_id = r.owner
                        WHERE p.pid = $1 AND r.status = 'running' AND r.crash_count >= 2)
"""
STATEMENTS = """
    SELECT coalesce(sum(s.calls), 0) FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
     WHERE r.rolname = 'bookgen'
"""
WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
WRITTEN = "SELECT count(*) FROM chapter WHERE content <> ''"
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'bookgen'"


@dataclass(frozen=True, slots=True)
class Odometer:
    """What had been done by one moment, with all background work. CPU in seconds, WAL in bytes."""

    chapters: int
    statements: int
    seconds: float
    wal: int
    server_cpu: float
    service_cpu: float

    def since(self, before: Odometer) -> str:
        """What each chapter took in between."""
        chapters = max(1, self.chapters - before.chapters)
        return (
            f"{chapters} chapters in {self.seconds - before.seconds:.0f} s, "
            f"each with {(self.statements - before.statements) / chapters:.1f} statements, "
            f"{(self.wal - before.wal) / chapters / 1024:.1f} KiB of WAL, "
            f"{(self.service_cpu - before.service_cpu) / chapters * 1000:.1f} ms of CPU in the service and "
            f"{(self.server_cpu - before.server_cpu) / chapters * 1000:.1f} ms in PostgreSQL"
        )


class Fleet:
    """The processes. The world's pool is a superuser's, so that its statements are not counted as theirs."""

    def __init__(self, world: World, server: PostgresServer, settings: dict[str, str]) -> None:
        self._world = world
        self._server = server
        self._settings = settings
        self.processes: list[Process] = []
        self._starting: set[asyncio.Task[None]] = set()

    @property
    def web(self) -> list[Process]:
        return [process for process, role in zip(self.processes, ROLES, strict=True) if role == "web"]

    async def serve(self) -> None:
        self.processes = [await self._start(role) for role in ROLES]
        await asyncio.gather(*self._starting)

    async def kill_one(self, dice: random.Random) -> str:
        """Kill a process and start another one in its place, without waiting for it. Returns the role."""
        spared = [await self._world.value(WOULD_SURVIVE, process.pid) for process in self.processes]
        place = dice.choice([place for place, survives in enumerate(spared) if survives])
        await self._world.kill(self.processes[place])
        self.processes[place] = await self._start(ROLES[place])
        return ROLES[place]

    async def spread(self) -> list[int]:
        """How many running runs each process with actors has, fewest first."""
        counted: list[int] = await self._world.value(SPREAD)
        return counted

    async def connections(self) -> int:
        count: int = await self._world.value(CONNECTIONS)
        return count

    async def odometer(self) -> Odometer:
        value = self._world.value
        return Odometer(
            await value(WRITTEN), int(await value(STATEMENTS)), time.monotonic(), int(await value(WAL)),
            cpu_seconds(self._server.processes()), cpu_seconds(process.pid for process in self.processes),
        )  # fmt: skip

    async def _start(self, role: str) -> Process:
        process = await self._world.serve(wait=False, BOOKGEN_ROLE=role, **self._settings)
        starting = asyncio.create_task(_until_ready_or_dead(process))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        return process


async def _until_ready_or_dead(process: Process) -> None:
    """On a busy machine a start may take as long as a life."""
    while not process.dead and not process.url:
        with contextlib.suppress(TimeoutError, AssertionError):
            await process.until_ready()
