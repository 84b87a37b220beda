"""An event loop whose clock jumps over every wait, so that an outage of an hour takes a moment.

    run(scenario())   # like asyncio.run, with sleeps and deadlines that take no time

The code under test runs unchanged, with its own intervals and over real sockets. Both ends of a socket must be in this
loop: while data is in transit between them, or a thread works, real time passes.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
ON_ITS_WAY = 0.002  # seconds within which data sent over loopback arrives


class JumpingSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """A selector that skips idle waits and adds their time to `skipped`."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0
        self.at_work = 0  # threads

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= ON_ITS_WAY or self.at_work:
            return super().select(timeout)
        if ready := super().select(ON_ITS_WAY):
            return ready
        self.skipped += timeout - ON_ITS_WAY
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return super().time() + self._jumping.skipped

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self._jumping.at_work += 1
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _: asyncio.Future[Any]) -> None:
        self._jumping.at_work -= 1


def run(scenario: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(scenario)
