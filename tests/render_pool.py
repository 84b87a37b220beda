"""A render pool shared by all services of a test process. It does each job only once."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

from bookgen.render.pool import RenderPool

MAX_KEPT = 64  # of up to a megabyte each


class SharedRenderPool(RenderPool):
    """A render pool with a cache. This is safe because equal jobs give equal bytes, which other tests check."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[bytes, Any] = {}

    async def run(self, job: Any) -> Any:
        asked = pickle.dumps(job)
        if asked not in self._made:
            if len(self._made) == MAX_KEPT:
                del self._made[next(iter(self._made))]
            self._made[asked] = await super().run(job)
        return self._made[asked]

    async def close(self) -> None:
        """Do nothing: other services still use the pool."""

    async def end(self) -> None:
        await super().close()


SHARED = SharedRenderPool()


class HeldRenderPool(RenderPool):
    """A pool that begins no job before the test releases it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let_go = asyncio.Event(), asyncio.Event()

    async def run(self, job: Any) -> Any:
        self.asked.set()
        await self.let_go.wait()
        return await SHARED.run(job)
