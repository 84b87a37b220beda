"""Limits concurrent calls and requests per minute, and makes accounts take turns."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiolimiter import AsyncLimiter

from bookgen.providers.slots import Slot, Slots

MAX_ACCOUNTS = 1000


class FairQueue:
    """Admits one caller at a time. Accounts take turns; the callers of one account are served in order."""

    def __init__(self) -> None:
        self._free = True
        self._waiting: OrderedDict[int | None, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def place(self, account_id: int | None) -> AsyncIterator[None]:
        await self._take(account_id)
        try:
            yield
        finally:
            self._next()

    async def _take(self, account_id: int | None) -> None:
        if self._free:
            self._free = False
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account_id, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            self._leave(account_id, waiter)
            raise

    def _leave(self, account_id: int | None, waiter: asyncio.Future[None]) -> None:
        if waiter.done() and not waiter.cancelled():
            self._next()
            return
        queue = self._waiting.get(account_id, deque())
        if waiter in queue:
            queue.remove(waiter)
        if not queue:
            self._waiting.pop(account_id, None)

    def _next(self) -> None:
        while self._waiting:
            account_id, queue = self._waiting.popitem(last=False)
            waiter = queue.popleft()
            if queue:
                self._waiting[account_id] = queue
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free = True


class Pacing:
    """Limits concurrent calls and requests per minute. Requests are spaced evenly, so no minute exceeds the limit.

    `learns`: whether to measure how many calls the server can serve at once, and to make only so many, up to
    `concurrency`.

    All callers wait in a fair queue. Only the first caller in this queue waits for a free slot and for the limit per
    minute: if more callers waited there, accounts would not take turns.
    """

    def __init__(self, *, concurrency: int, requests_per_minute: int = 0, learns: bool = False) -> None:
        self._turnstile = FairQueue()
        self._slots = Slots(concurrency, learns=learns)
        self._requests_per_minute = requests_per_minute
        self._processes = 1
        self._bound_requests()

    def share(self, processes: int) -> None:
        """Set how many processes share both limits. From now on, this process uses an equal share of them."""
        if processes != self._processes:
            self._processes = processes
            self._slots.share(processes)
            self._bound_requests()

    def allow(self, calls: int) -> None:
        """Set how many concurrent calls all processes together may make."""
        self._slots.allow(calls)

    def _bound_requests(self) -> None:
        a_minute = self._requests_per_minute
        self._interval = 60 / a_minute * self._processes if a_minute else 0.0
        self._provider = AsyncLimiter(1, self._interval) if a_minute else None
        self._accounts: OrderedDict[int | None, AsyncLimiter] = OrderedDict()

    @asynccontextmanager
    async def slot(self, account_id: int | None) -> AsyncIterator[Slot]:
        if self._provider is not None:
            await self._account(account_id).acquire()
        async with AsyncExitStack() as held:
            async with self._turnstile.place(account_id):
                slot = await held.enter_async_context(self._slots.taken())
                if self._provider is not None:
                    await self._provider.acquire()
            yield slot

    def _account(self, account_id: int | None) -> AsyncLimiter:
        limiter = self._accounts.pop(account_id, None) or AsyncLimiter(1, self._interval)
        self._accounts[account_id] = limiter
        while len(self._accounts) > MAX_ACCOUNTS:
            self._accounts.popitem(last=False)
        return limiter
