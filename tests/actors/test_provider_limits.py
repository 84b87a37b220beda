"""All processes share the limits of the model provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bookgen.store.database import Database
from tests.actors.conftest import Model, supervising


class LimitedModel(Model):
    """Records what it is told about its provider's limits."""

    def __init__(self) -> None:
        super().__init__()
        self.on_busy: Callable[[str, float], None] = lambda name, seconds: None
        self.processes = 1
        self.held_back = asyncio.Queue[tuple[str, float]]()

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        self.on_busy = tell

    def share(self, processes: int) -> None:
        self.processes = processes

    def hold_back(self, name: str, seconds: float) -> None:
        self.held_back.put_nowait((name, seconds))


async def test_each_process_keeps_to_its_share_of_the_limits(database: Database) -> None:
    here, elsewhere = LimitedModel(), LimitedModel()

    async with supervising(database, here, here.write_chapter) as supervisor:
        async with supervising(database, elsewhere, elsewhere.write_chapter):
            await supervisor.lease.renew()
            assert here.processes == 2
            assert elsewhere.processes == 2
        await supervisor.lease.renew()
        assert here.processes == 1


async def test_when_a_provider_is_busy_for_one_process_all_processes_wait(database: Database) -> None:
    here, elsewhere = LimitedModel(), LimitedModel()

    async with (
        supervising(database, here, here.write_chapter) as supervisor,
        supervising(database, elsewhere, elsewhere.write_chapter),
    ):
        await supervisor.lease.renew()
        assert here.processes == 2
        async with asyncio.timeout(10):
            while elsewhere.held_back.empty():  # until it listens for notifications
                here.on_busy("openai:scripted", 2.5)
                await asyncio.sleep(0.01)

        assert elsewhere.held_back.get_nowait() == ("openai:scripted", 2.5)
