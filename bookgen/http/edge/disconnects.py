"""Cancels slow work when its caller disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from aiohttp import web

from bookgen.errors import CallerLeft
from bookgen.http.edge.connection import BoundedConnection

T = TypeVar("T")


async def while_listening(request: web.Request, work: Coroutine[Any, Any, T]) -> T:
    """Await `work` and return its result. If the caller disconnects meanwhile, cancel `work` and raise CallerLeft."""
    task = asyncio.create_task(work)
    left = asyncio.create_task(cast(BoundedConnection, request.protocol).lost.wait())
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CallerLeft
        return task.result()
    finally:
        left.cancel()
        task.cancel()
        await asyncio.wait((task,))
