"""A thread for computations that would block the event loop for too long."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Only one thread: the event loop competes with every computing thread for the interpreter lock.
_thread = ThreadPoolExecutor(1, thread_name_prefix="compute")


async def compute(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in the thread, after all earlier calls, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_thread, functools.partial(function, *args, **kwargs))
