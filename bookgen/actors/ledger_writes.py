"""Writes to the ledger that are under way: each is finished, whatever becomes of the work that was paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from bookgen.actors.actor import spawn


class LedgerWrites:
    """Owns the tasks that enter what model calls have used. `tasks`: those that are not done yet."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, write: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = spawn(write)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task
