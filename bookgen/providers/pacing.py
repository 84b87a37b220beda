"""How many calls go out at once and how fast, fairly between accounts."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

MOST_ACCOUNTS = 1000


class FairSlots:
    """`count` slots; who waits is served account by account in turn, first come first served within an account."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: OrderedDict[int | None, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def slot(self, account_id: int | None) -> AsyncIterator[None]:
        await self._take(account_id)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, account_id: int | None) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account_id, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._leave(account_id, turn)
            raise

    def _leave(self, account_id: int | None, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._give_back()
            return
        queue = self._waiting.get(account_id, deque())
        if turn in queue:
            queue.remove(turn)
        if not queue:
            self._waiting.pop(account_id, None)

    def _give_back(self) -> None:
        while self._waiting:
            account_id, queue = self._waiting.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._waiting[account_id] = queue
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Pacing:
    """Calls at once, and requests a minute: of the provider, and of each account, which may not spend a minute's
    requests in one burst."""

    def __init__(self, *, concurrency: int, requests_per_minute: int = 0) -> None:
        self._slots = FairSlots(concurrency)
        self._rpm = requests_per_minute
        self._provider = AsyncLimiter(requests_per_minute, 60) if requests_per_minute else None
        self._accounts: OrderedDict[int | None, AsyncLimiter] = OrderedDict()

    @asynccontextmanager
    async def turn(self, account_id: int | None) -> AsyncIterator[None]:
        if self._provider is not None:
            await self._account(account_id).acquire()
        async with self._slots.slot(account_id):
            if self._provider is not None:
                await self._provider.acquire()
            yield

    def _account(self, account_id: int | None) -> AsyncLimiter:
        limiter = self._accounts.pop(account_id, None) or AsyncLimiter(1, 60 / self._rpm)
        self._accounts[account_id] = limiter
        while len(self._accounts) > MOST_ACCOUNTS:
            self._accounts.popitem(last=False)
        return limiter
