"""An event loop with virtual time that runs several processes. A seed chooses which of them runs next.

Within a process callbacks keep the order that asyncio guarantees. Between processes there is no order: any process with
work may be next. Time stands still while a process can run, then jumps to the next timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

MOST_STEPS = 200_000  # a schedule uses a tenth of this


class Standstill(Exception):
    """Nothing will ever happen again, or the same forever."""


class Owner:
    """The owner of callbacks: a process, or the world around the processes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready: deque[_Timer] = deque()
        self.frozen = False
        self.dead = False

    def kill(self) -> None:
        """Like `kill -9`: none of its callbacks ever runs again."""
        self.dead = True
        self.ready.clear()


class _Timer(asyncio.TimerHandle):
    """Like asyncio's timer, which takes three times as long to create; a schedule creates thousands."""

    __slots__ = ()

    def __init__(self, callback: Any, args: Any, context: contextvars.Context | None) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._callback = callback
        self._args = args
        self._cancelled = False

    def cancel(self) -> None:  # it is skipped when its time comes
        self._cancelled = True
        self._callback = self._args = None


class SimulatedLoop(asyncio.BaseEventLoop):
    """Callbacks scheduled by an owner's callback belong to the same owner."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.world = Owner("world")
        self.current = self.world
        self.connect: Callable[[Owner, Callable[[], asyncio.Protocol]], Any] | None = None
        self.complaints: list[str] = []
        self.steps = 0
        self._chance = chance
        self._now = 0.0
        self._owners = [self.world]
        self._timers: list[tuple[float, int, Owner, _Timer]] = []
        self._numbers = itertools.count()
        self.set_exception_handler(self._complain)
        # The queries of asyncio for each new future are answered without running Python code.
        self.get_debug = bool  # type: ignore[method-assign]
        self.create_future = functools.partial(asyncio.Future, loop=self)  # type: ignore[method-assign]

    def add(self, owner: Owner) -> None:
        self._owners = [each for each in self._owners if not each.dead] + [owner]

    @contextlib.contextmanager
    def acting_as(self, owner: Owner) -> Iterator[None]:
        """Callbacks scheduled inside belong to `owner`."""
        before, self.current = self.current, owner
        try:
            yield
        finally:
            self.current = before

    # Methods that asyncio requires of a loop

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = _Timer(callback, args, context)
        self.current.ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(callback, args, context)
        timer._when = when
        heapq.heappush(self._timers, (when, next(self._numbers), self.current, timer))
        return timer

    def call_for(self, owner: Owner, when: float, callback: Callable[..., Any], *args: Any) -> None:
        """Like `call_at`, on behalf of `owner`."""
        timer = _Timer(callback, args, None)
        heapq.heappush(self._timers, (when, next(self._numbers), owner, timer))

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(callback, args, context)
        heapq.heappush(self._timers, (self._now + delay, next(self._numbers), self.current, timer))
        return timer

    async def create_unix_connection(self, protocol_factory: Any, path: str | None = None, **_: Any) -> Any:
        assert self.connect is not None
        return await self.connect(self.current, protocol_factory)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        future = self.create_future()
        future.set_result(func(*args))  # work in threads takes no virtual time
        return future

    def _run_once(self) -> None:
        """Run callbacks until the loop is stopped. The outer loop would cost more than most callbacks."""
        while not self._stopping:
            runnable = [owner for owner in self._owners if owner.ready and not owner.frozen]
            if runnable:
                owner = runnable[0] if len(runnable) == 1 else self._chance.choice(runnable)
                handle = owner.ready.popleft()
            else:
                owner, handle = self._advance()
                if owner.frozen:  # it is called once the owner thaws
                    owner.ready.append(handle)
                    continue
            if handle._cancelled:
                continue
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Standstill(f"no end after {self.steps} steps")
            self.current = owner
            try:
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self._complain(self, {"message": f"Exception in callback {handle._callback}", "exception": error})
            finally:
                self.current = self.world

    def _advance(self) -> tuple[Owner, _Timer]:
        """Advance the time to the next timer."""
        while self._timers:
            when, _, owner, timer = heapq.heappop(self._timers)
            if timer._cancelled or owner.dead:
                continue
            self._now = max(self._now, when)
            return owner, timer
        raise Standstill("nothing will ever happen again")

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.complaints.append(f"{context['message']}: {error!r}" if error else str(context["message"]))

    def _process_events(self, event_list: Any) -> None:
        raise NotImplementedError

    def _write_to_self(self) -> None:
        pass
