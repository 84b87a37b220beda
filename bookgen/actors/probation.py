"""Runs under suspicion of killing the process are handled one at a time, while all others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from bookgen.actors.actor import spawn
from bookgen.actors.decide import CRASHES_TO_SUSPECT
from bookgen.models import Run

# Seconds before the first trial, the second and the third, each in another process. One that is killed at random is
# hardly killed in just the moment after, and one that a run kills dies ever more slowly, to the good of all others.
RESTS = (0.0, 5.0, 30.0)


@dataclass(slots=True, eq=False)
class Trial:
    """A suspect that is handled, waits to be, or waits for the model in between."""

    run_id: UUID
    crashes: int
    turn: asyncio.Event = field(default_factory=asyncio.Event)


class Probation:
    """The lane of suspected runs.

    The run on trial is named in the process's row before anything of it is handled, so that a crash meanwhile is
    charged to it alone. While it waits for the model nothing of the book is handled: then others have the lane,
    so that many innocents do not wait for each other's calls. Those who crashed least come first.
    """

    def __init__(self, name: Callable[[UUID | None], Awaitable[None]]) -> None:
        self._name = name
        self._naming = asyncio.Lock()
        self._on_trial: Trial | None = None
        self._waiting: list[Trial] = []

    async def rest(self, run: Run) -> None:
        """Before the trial of a suspect that is not alone, while it keeps nobody from anything."""
        await asyncio.sleep(RESTS[min(run.crash_count - CRASHES_TO_SUSPECT, len(RESTS) - 1)])

    @asynccontextmanager
    async def trial(self, run: Run) -> AsyncIterator[None]:
        """Around the writing of a chapter. A text that comes of it is still to be committed: `over` ends the trial."""
        if run.crash_count < CRASHES_TO_SUSPECT:
            yield
            return
        trial = Trial(run.id, run.crash_count)
        await self._enter(trial)
        try:
            yield
        except BaseException:
            self._leave(trial)
            raise

    @asynccontextmanager
    async def waiting_for_model(self, run_id: UUID | None) -> AsyncIterator[None]:
        trial = self._on_trial
        if trial is None or trial.run_id != run_id:
            yield
            return
        self._leave(trial)
        yield
        await self._enter(trial)

    def over(self, run_id: UUID) -> None:
        """Nothing of the run is handled any more."""
        if self._on_trial and self._on_trial.run_id == run_id:
            self._leave(self._on_trial)

    def clear(self) -> None:
        self._waiting.clear()
        self._on_trial = None

    async def _enter(self, trial: Trial) -> None:
        trial.turn.clear()
        self._waiting.append(trial)
        self._next()
        try:
            await trial.turn.wait()
            await self._write_name()
        except BaseException:
            if trial in self._waiting:
                self._waiting.remove(trial)
            self._leave(trial)
            raise

    def _leave(self, trial: Trial) -> None:
        if self._on_trial is trial:
            self._on_trial = None
            self._next()
            if self._on_trial is None:
                spawn(self._write_name())

    def _next(self) -> None:
        if self._on_trial is None and self._waiting:
            self._on_trial = min(self._waiting, key=lambda trial: trial.crashes)
            self._waiting.remove(self._on_trial)
            self._on_trial.turn.set()

    async def _write_name(self) -> None:
        """In order, and always who is on trial by then."""
        async with self._naming:
            await self._name(self._on_trial.run_id if self._on_trial else None)
