"""Batches: what is asked of the database for different books at the same moment goes to it as one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import structlog

from bookgen.actors.actor import spawn
from bookgen.errors import Unavailable
from bookgen.store.outages import is_outage

log = structlog.get_logger()

AT_ONCE = 4

Q = TypeVar("Q")
A = TypeVar("A")


class Batches(Generic[Q, A]):
    """Shares statements without a timer: whoever asks while all batches are under way goes with the next one.

    `perform` does what is asked, all or none, and answers by the `key` of each; one may be absent from its answer.
    A batch sees everything committed before its requests were submitted.
    """

    def __init__(
        self, perform: Callable[[Sequence[Q]], Awaitable[Mapping[Any, A]]], key: Callable[[Q], Hashable], most: int
    ) -> None:
        self._perform = perform
        self._key = key
        self._most = most
        self._waiting: deque[tuple[Q, asyncio.Future[A | None]]] = deque()
        self._under_way = 0

    async def submit(self, asked: Q) -> A | None:
        """What `perform` answers to it."""
        answer: asyncio.Future[A | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, answer))
        if self._under_way < AT_ONCE:
            self._under_way += 1
            spawn(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
                await self._settle(batch)
        finally:
            self._under_way -= 1

    async def _settle(self, batch: list[tuple[Q, asyncio.Future[A | None]]]) -> None:
        try:
            answers = await self._perform([asked for asked, _ in batch])
        except Unavailable as error:
            if not is_outage(error):  # one of the rows is locked
                await self._one_by_one(batch, error)
                return
            for _, answer in batch:
                _tell(answer, error)
        except Exception as error:
            await self._one_by_one(batch, error)
        else:
            for asked, answer in batch:
                _tell(answer, answers.get(self._key(asked)))

    async def _one_by_one(self, batch: list[tuple[Q, asyncio.Future[A | None]]], error: Exception) -> None:
        """What the database refuses, or finds locked, must fail its own book only."""
        if len(batch) == 1:
            _tell(batch[0][1], error)
            return
        log.warning("batch_refused", rows=len(batch), reason=str(error))
        for entry in batch:
            await self._settle([entry])


def _tell(answer: asyncio.Future[A | None], outcome: A | Exception | None) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
