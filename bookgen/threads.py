"""A thread for what computes too long for the event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# One: of the threads that compute, the event loop waits for each before it has the interpreter again.
_thread = ThreadPoolExecutor(1, thread_name_prefix="compute")


async def compute(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function returns, called once all that were given before are done."""
    return await asyncio.get_running_loop().run_in_executor(_thread, functools.partial(function, *args, **kwargs))
