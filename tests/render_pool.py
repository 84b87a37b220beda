"""The render pool that the services of one process of tests share: the same job is done once for all of them."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

from bookgen.render.pool import RenderPool

MOST_KEPT = 64  # of up to a megabyte each


class SharedRenderPool(RenderPool):
    """Keeps what was made: the same job makes the same bytes, which other tests hold it to."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[bytes, Any] = {}

    async def run(self, job: Any) -> Any:
        asked = pickle.dumps(job)
        if asked not in self._made:
            if len(self._made) == MOST_KEPT:
                del self._made[next(iter(self._made))]
            self._made[asked] = await super().run(job)
        return self._made[asked]

    async def close(self) -> None:
        """The service that closes leaves it to the others."""

    async def end(self) -> None:
        await super().close()


SHARED = SharedRenderPool()


class HeldRenderPool(RenderPool):
    """Begins no job before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let_go = asyncio.Event(), asyncio.Event()

    async def run(self, job: Any) -> Any:
        self.asked.set()
        await self.let_go.wait()
        return await SHARED.run(job)
