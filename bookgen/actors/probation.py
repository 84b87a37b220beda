"""Runs that are suspected of killing the process are handled one at a time, while all others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from bookgen.actors.actor import spawn
from bookgen.actors.decide import CRASHES_TO_SUSPECT
from bookgen.actors.resources import Resources
from bookgen.models import Run
from bookgen.store import processes

# Seconds before a suspect is handled the first time, the second and the third, each in another process. One that is
# killed at random is hardly killed in just the moment after, and one that a run kills dies ever more slowly, to the
# good of all others.
BACK_OFF = (0.0, 5.0, 30.0)


@dataclass(slots=True, eq=False)
class Suspect:
    """A suspected run that is handled, waits to be, or waits for the model in between."""

    run_id: UUID
    crashes: int
    admitted: asyncio.Event = field(default_factory=asyncio.Event)


class Probation:
    """Has suspected runs handled one at a time, those that crashed least first.

    The run that is handled is named in the process's row before anything of it is, so that a crash meanwhile is
    charged to it alone. While it waits for the model nothing of the book is handled: then another suspect is, so that
    many innocents do not wait for each other's calls.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._naming = asyncio.Lock()
        self._handled: Suspect | None = None
        self._waiting: list[Suspect] = []

    @asynccontextmanager
    async def handling(self, run: Run) -> AsyncIterator[None]:
        """Surrounds the writing of a chapter. The run is handled until its text is committed: then call `release`."""
        if not suspected(run):
            yield
            return
        suspect = Suspect(run.id, run.crash_count)
        await self._enter(suspect)
        try:
            yield
        except BaseException:
            self._leave(suspect)
            raise

    @asynccontextmanager
    async def waiting_for_model(self, run_id: UUID | None) -> AsyncIterator[None]:
        """Surrounds a model call of the run: another suspect is handled meanwhile."""
        suspect = self._handled
        if suspect is None or suspect.run_id != run_id:
            yield
            return
        self._leave(suspect)
        yield
        await self._enter(suspect)

    def release(self, run_id: UUID) -> None:
        """Lets the next suspect in: nothing of the run is handled any more."""
        if self._handled and self._handled.run_id == run_id:
            self._leave(self._handled)

    def clear(self) -> None:
        self._waiting.clear()
        self._handled = None

    async def _enter(self, suspect: Suspect) -> None:
        suspect.admitted.clear()
        self._waiting.append(suspect)
        self._admit_next()
        try:
            await suspect.admitted.wait()
            await self._write_name()
        except BaseException:
            if suspect in self._waiting:
                self._waiting.remove(suspect)
            self._leave(suspect)
            raise

    def _leave(self, suspect: Suspect) -> None:
        if self._handled is suspect:
            self._handled = None
            self._admit_next()
            if self._handled is None:
                spawn(self._write_name())

    def _admit_next(self) -> None:
        if self._handled is None and self._waiting:
            self._handled = min(self._waiting, key=lambda suspect: suspect.crashes)
            self._waiting.remove(self._handled)
            self._handled.admitted.set()

    async def _write_name(self) -> None:
        """Writes into the process's row which suspect is handled now; one write at a time, so the last one stands."""
        resources = self._resources

        async def write() -> None:
            handled = self._handled.run_id if self._handled else None
            await processes.set_suspect(resources.pool, resources.boot_id, handled)

        async with self._naming:
            await resources.health.through_outages(write)


def suspected(run: Run) -> bool:
    return run.crash_count >= CRASHES_TO_SUSPECT


def back_off(run: Run) -> float:
    """Seconds that a suspect waits before it is handled, where this process writes other runs too."""
    return BACK_OFF[min(run.crash_count - CRASHES_TO_SUSPECT, len(BACK_OFF) - 1)]
