"""Sets the gauges before the metrics are read. Gauges that need the database are updated every few seconds at most."""

from __future__ import annotations

import asyncio
import math

import asyncpg
from aiohttp import web

from bookgen import metrics
from bookgen.actors.resources import LeaseState
from bookgen.errors import Unavailable
from bookgen.http.edge.keys import Services
from bookgen.store import metric_figures
from bookgen.store.metric_figures import Figures

FRESH_SECONDS = 5.0  # how long figures from the database are reused
READ_SECONDS = 2.0  # after which the database counts as down


class Gauges:
    """The gauges of this process: metrics whose values are computed when someone requests the metrics."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._read_at = -math.inf
        self._reading = asyncio.Lock()

    async def refresh(self) -> None:
        """Set all gauges. Queries the database at most once in FRESH_SECONDS, however often this is called."""
        self._set_pools()
        self._set_rendering()
        self._set_disk()
        self._set_lease()
        clock = asyncio.get_running_loop().time
        async with self._reading:
            if clock() - self._read_at < FRESH_SECONDS:
                return
            self._read_at = clock()
            await self._read()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                read = await metric_figures.read(self._services.database.http)
        except (OSError, Unavailable, asyncpg.PostgresError, asyncpg.InterfaceError):
            metrics.DATABASE_UP.set(0)
        else:
            metrics.DATABASE_UP.set(1)
            _set_figures(read)

    def _set_pools(self) -> None:
        database = self._services.database
        for name, pool in (("http", database.http), ("runs", database.runs), ("lease", database.lease)):
            metrics.CONNECTIONS_IN_USE.labels(name).set(pool.in_use)
            metrics.CONNECTIONS_MAX.labels(name).set(pool.get_max_size())
            metrics.CONNECTION_WAITERS.labels(name).set(pool.waiters)

    def _set_rendering(self) -> None:
        load = self._services.publisher.load
        metrics.RENDER_WORKERS.labels("busy").set(load.busy)
        metrics.RENDER_WORKERS.labels("idle").set(load.idle)
        metrics.RENDER_WAITING.set(load.waiting)

    def _set_disk(self) -> None:
        space = self._services.disk()
        if space is not None:
            metrics.DISK_FREE.set(space.free)
            metrics.DISK_SIZE.set(space.total)
        metrics.DISK_READ_ONLY.set(self._services.shortage() is not None)

    def _set_lease(self) -> None:
        supervisor = self._services.supervisor
        metrics.LEASE_HELD.set(supervisor.resources.lease_state is LeaseState.HELD)
        metrics.LEASE_LEFT.set(max(0.0, supervisor.lease.seconds_left))
        metrics.CHAPTERS_IN_WORK.set(len(supervisor.runs_in_flight.by_run))


GAUGES: web.AppKey[Gauges] = web.AppKey("gauges")


def _set_figures(read: Figures) -> None:
    for state in ("queued", "running", "paused"):
        metrics.RUNS.labels(state).set(getattr(read, state))
    metrics.UNOWNED_RUNS.set(read.unowned)
    metrics.RUN_OLDEST_WAIT.set(read.oldest_wait)
    metrics.MAIL_QUEUED.set(read.mail_queued)
    metrics.MAIL_OLDEST_WAIT.set(read.mail_oldest_wait)
    metrics.PROCESSES.set(read.processes)
    metrics.WORKING_PROCESSES.set(read.taking_work)
    metrics.BACKUP_AGE.set(math.inf if read.backup_age is None else read.backup_age)
    metrics.BACKUP_MISSING.set(read.backup_missing)
