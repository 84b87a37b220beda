"""A simulated process of the service: the product's own supervisor and pools, and the view of its callers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from bookgen.actors.resources import LeaseState, Products, Writing
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.errors import Unavailable
from bookgen.providers.text import TextModel
from bookgen.store.database import Database
from tests.sim.loop import Owner, SimulatedLoop
from tests.sim.postgres import EPOCH

T = TypeVar("T")

CONNECTIONS = 4  # connections per pool: few, so that work has to wait
CHAPTERS_AT_ONCE = 64
START_AGAIN_SECONDS = 1.0
STEP_SECONDS = 0.0001


class ProcessEnded(Exception):
    """The process ended before it answered."""


class SimulatedProcess(Owner):
    """`asked`: the callers' futures of requests that are not answered yet."""

    def __init__(
        self, name: str, pid: int, loop: SimulatedLoop, dsn: str, model: TextModel, writing: Writing, products: Products
    ) -> None:
        super().__init__(name)
        self.pid = pid
        self.asked: set[asyncio.Future[Any]] = set()
        self._served: list[asyncio.Task[None]] = []  # a pool that ended with its process would complain when collected
        self.draining = False
        self._frozen_at = self._thawed_at = -math.inf
        self._knew_others = False
        self.crashes: list[str] = []
        self.supervisor: Supervisor | None = None
        self.database: Database | None = None
        self.quota = Quota(billing=True, clock=self._now)
        self._loop = loop
        self._dsn = dsn
        self._parts = (model, writing, products)
        loop.add(self)

    @property
    def serving(self) -> bool:
        return not (self.dead or self.draining) and self.supervisor is not None and self.supervisor.restored

    @property
    def overdue(self) -> bool:
        """Whether its lease expired by its own clock while it was frozen, other processes existed, and it continues. It
        finishes its step before it looks at its clock.
        """
        if self.supervisor is None or not self._knew_others or self._loop.time() < self._thawed_at + STEP_SECONDS:
            return False
        ends_at = self.supervisor.lease.ends_at
        held = self.supervisor.resources.lease_state is not LeaseState.NONE
        return held and self._frozen_at < ends_at < self._thawed_at

    @property
    def books(self) -> set[int]:
        """The books for which a run, a report or a blurb has something in flight here."""
        if self.supervisor is None:
            return set()
        runs, reports = self.supervisor.runs_in_flight.by_run.values(), self.supervisor.reports._steps.values()
        steps = [*reports, *self.supervisor.blurbs._steps.values()]
        return {work.run.book_id for work in runs} | {each.scope.book_id for each in steps}

    @property
    def handling(self) -> set[int]:
        """The books whose actors are handling a message."""
        return {actor.book_id for actor in self.supervisor.registry if not actor.idle} if self.supervisor else set()

    def freeze(self) -> None:
        self.frozen, self._frozen_at = True, self._loop.time()
        self._knew_others = bool(self.supervisor and self.supervisor.resources.other_processes)

    def thaw(self) -> None:
        self.frozen, self._thawed_at = False, self._loop.time()

    def boot(self) -> None:
        with self._loop.acting_as(self):
            self._loop.create_task(self._serve())

    async def _serve(self) -> None:
        model, writing, products = self._parts
        while True:
            try:
                self.database = await Database.open(
                    self._dsn, http_connections=CONNECTIONS, run_connections=CONNECTIONS
                )
                break
            except (Unavailable, OSError):
                await asyncio.sleep(START_AGAIN_SECONDS)
        self.supervisor = Supervisor(
            self.database,
            writing=writing,
            products=products,
            model=model,
            quota=self.quota,
            painter=None,  # type: ignore[arg-type]
            price=lambda _model, _usage: None,
            caps=CostCaps(),
            chapters_at_once=CHAPTERS_AT_ONCE,
        )
        await self.supervisor.start()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(EPOCH + self._loop.time(), UTC)

    async def drain(self, seconds: float) -> None:
        """What SIGTERM causes, until the process ends."""
        self.draining = True
        if self.supervisor:
            await self.supervisor.drain(seconds)
        if self.database:
            await self.database.close(patience=1.0)

    def kill(self) -> None:
        super().kill()
        with self._loop.acting_as(self._loop.world):
            for reply in list(self.asked):
                if not reply.done():
                    reply.set_exception(ProcessEnded())
                    reply.exception()

    def request(self, work: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
        """Run `work` in the process. The future belongs to the caller; ProcessEnded if the process ends first."""
        reply: asyncio.Future[T] = self._loop.create_future()
        self.asked.add(reply)
        reply.add_done_callback(self.asked.discard)

        async def serve() -> None:
            try:
                result = await work()
            except Exception as error:
                self._answer(reply, reply.set_exception, error)
            else:
                self._answer(reply, reply.set_result, result)

        with self._loop.acting_as(self):
            self._loop.call_soon(lambda: self._served.append(self._loop.create_task(serve())))
        return reply

    def _answer(self, reply: asyncio.Future[Any], settle: Callable[[Any], None], outcome: Any) -> None:
        def arrive() -> None:
            if not reply.done():
                settle(outcome)

        with self._loop.acting_as(self._loop.world):
            self._loop.call_soon(arrive)
