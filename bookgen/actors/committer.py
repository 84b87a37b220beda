"""Group commit: the finished chapters that wait at the same moment go to the database in one statement."""

from __future__ import annotations

import asyncio
from collections import deque

import asyncpg
import structlog

from bookgen.actors.actor import spawn
from bookgen.actors.health import TRANSIENT
from bookgen.models import Run
from bookgen.store import runs
from bookgen.store.runs import Checkpoint

log = structlog.get_logger()

WRITERS = 4
MOST_ROWS = 16


class Committer:
    """Writes checkpoints in batches without a timer: whoever comes while both writers are busy shares the next."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._waiting: deque[tuple[Checkpoint, asyncio.Future[Run | None]]] = deque()
        self._writers = 0

    async def checkpoint(self, row: Checkpoint) -> Run | None:
        """Commits one chapter. None: it was fenced off."""
        answer: asyncio.Future[Run | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, answer))
        if self._writers < WRITERS:
            self._writers += 1
            spawn(self._write())
        return await answer

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(MOST_ROWS, len(self._waiting)))]
                await self._commit(batch)
        finally:
            self._writers -= 1

    async def _commit(self, batch: list[tuple[Checkpoint, asyncio.Future[Run | None]]]) -> None:
        try:
            saved = await runs.checkpoint(self._pool, [row for row, _ in batch])
        except TRANSIENT as error:
            for _, answer in batch:
                _settle(answer, error)
        except Exception as error:
            await self._one_by_one(batch, error)
        else:
            for row, answer in batch:
                _settle(answer, saved.get(row.run_id))

    async def _one_by_one(self, batch: list[tuple[Checkpoint, asyncio.Future[Run | None]]], error: Exception) -> None:
        """A row that the database refuses must fail its own book only."""
        if len(batch) == 1:
            _settle(batch[0][1], error)
            return
        log.warning("checkpoint_batch_refused", rows=len(batch), reason=str(error))
        for entry in batch:
            await self._commit([entry])


def _settle(answer: asyncio.Future[Run | None], outcome: Run | Exception | None) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
