"""The authors of the other files lose no book themselves."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.chaos.traffic import Traffic
from tests.chaos.world import World


@pytest.mark.timeout(300)
async def test_a_book_that_an_author_begins_while_no_process_runs_is_requested_later(
    world: World, dice: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    traffic = Traffic(world, dice, [await world.author()], chapters=1, ahead=1)
    process = await world.serve()
    real: Callable[..., Awaitable[int]] = world.book

    async def killed_meanwhile(*given: Any, **options: Any) -> int:
        traffic.meet()
        return await real(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(world, "book", killed_meanwhile)
        await traffic._round()
    traffic.meet(process)
    traffic.finish()

    await traffic.run()

    assert await world.value("SELECT count(*) FROM run WHERE status = 'completed'") == 1
