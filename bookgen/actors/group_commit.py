"""Group commit: writes of different books that wait at the same moment go to the database in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from bookgen.actors.actor import spawn
from bookgen.errors import Unavailable
from bookgen.store.outages import is_outage

log = structlog.get_logger()

WRITERS = 4


class RowOfRun(Protocol):
    @property
    def run_id(self) -> UUID: ...


R = TypeVar("R", bound=RowOfRun)
A = TypeVar("A")


class GroupCommit(Generic[R, A]):
    """Batches without a timer: whoever comes while all writers are busy shares the next transaction.

    `write` commits rows of different runs, all or none, and answers by run; a run may be absent from its answer.
    """

    def __init__(self, write: Callable[[Sequence[R]], Awaitable[Mapping[UUID, A]]], most_rows: int) -> None:
        self._write = write
        self._most_rows = most_rows
        self._waiting: deque[tuple[R, asyncio.Future[A | None]]] = deque()
        self._writers = 0

    async def commit(self, row: R) -> A | None:
        """What `write` answers for the row's run, once it is durable."""
        answer: asyncio.Future[A | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, answer))
        if self._writers < WRITERS:
            self._writers += 1
            spawn(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(self._most_rows, len(self._waiting)))]
                await self._commit(batch)
        finally:
            self._writers -= 1

    async def _commit(self, batch: list[tuple[R, asyncio.Future[A | None]]]) -> None:
        try:
            answers = await self._write([row for row, _ in batch])
        except Unavailable as error:
            if not is_outage(error):  # one of the rows is locked
                await self._one_by_one(batch, error)
                return
            for _, answer in batch:
                _settle(answer, error)
        except Exception as error:
            await self._one_by_one(batch, error)
        else:
            for row, answer in batch:
                _settle(answer, answers.get(row.run_id))

    async def _one_by_one(self, batch: list[tuple[R, asyncio.Future[A | None]]], error: Exception) -> None:
        """A row that the database refuses, or that is locked, must fail its own book only."""
        if len(batch) == 1:
            _settle(batch[0][1], error)
            return
        log.warning("batch_refused", rows=len(batch), reason=str(error))
        for entry in batch:
            await self._commit([entry])


def _settle(answer: asyncio.Future[A | None], outcome: A | Exception | None) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
