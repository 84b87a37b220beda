"""Threads for work that would block the event loop for too long: computations, and calls that may hang for ever."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Only one thread: the event loop competes with every computing thread for the interpreter lock.
_thread = ThreadPoolExecutor(1, thread_name_prefix="compute")


async def compute(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in the only thread for computations, after all earlier calls, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_thread, functools.partial(function, *args, **kwargs))


class AbandonedThreads:
    """Runs work in at most `number` threads at a time. When the process ends, it does not wait for these threads."""

    def __init__(self, number: int, name: str) -> None:
        self._free = asyncio.Semaphore(number)
        self._name = name

    async def run(self, work: Callable[[], T]) -> T:
        """Call `work` in a new thread and return its result. If the caller is cancelled, the thread runs to its end.

        A ThreadPoolExecutor is not suitable, because the process would wait at its end for threads that hang.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            self._free.release()
            if not outcome.done():
                outcome.set_exception(error) if error else outcome.set_result(result)  # type: ignore[arg-type]

        def main() -> None:
            result, failure = None, None
            try:
                result = work()
            except BaseException as error:
                failure = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, result, failure)

        try:
            threading.Thread(target=main, name=self._name, daemon=True).start()
        except RuntimeError:  # this process can't have another thread now
            self._free.release()
            raise
        return await outcome
