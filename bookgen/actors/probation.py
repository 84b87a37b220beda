"""Runs under suspicion of killing the process are tried one at a time, while all others go on."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from bookgen.actors.decide import CRASHES_TO_SUSPECT
from bookgen.models import Run, RunStatus


class Probation:
    """The lane of suspected runs.

    The run on trial is named in the process's row before it starts, so that a crash meanwhile is charged to it
    alone. It is not named while it only waits for the model: nothing of the book is handled then, so a crash is
    somebody else's. It leaves the lane with its first progress or when it is no longer running.
    """

    def __init__(self, name: Callable[[UUID | None], Awaitable[None]], begin: Callable[[Run], None]) -> None:
        self._name = name
        self._begin = begin
        self._waiting: deque[Run] = deque()
        self._trial: Run | None = None

    def __contains__(self, run: Run) -> bool:
        return any(run.id == other.id for other in ([self._trial] if self._trial else []) + list(self._waiting))

    async def admit(self, run: Run) -> None:
        if self._trial and self._trial.id == run.id:
            self._begin(run)
        elif run not in self:
            self._waiting.append(run)
            await self._next()

    async def moved(self, run: Run) -> None:
        """Something happened to a run: the trial may be over."""
        over = run.status is not RunStatus.RUNNING or run.crash_count < CRASHES_TO_SUSPECT
        if over:
            self._waiting = deque(other for other in self._waiting if other.id != run.id)
        if over and self._trial and self._trial.id == run.id:
            await self._name(None)
            self._trial = None
            await self._next()

    @asynccontextmanager
    async def waiting_for_model(self, run_id: UUID | None) -> AsyncIterator[None]:
        if self._trial is None or self._trial.id != run_id:
            yield
            return
        await self._name(None)
        yield
        await self._name(run_id)

    def clear(self) -> None:
        self._waiting.clear()
        self._trial = None

    async def _next(self) -> None:
        if self._trial is None and self._waiting:
            self._trial = self._waiting.popleft()
            await self._name(self._trial.id)
            self._begin(self._trial)
