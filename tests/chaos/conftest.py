"""A world for each scenario, and one seed for the whole session."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.chaos.small_disk import possible
from tests.chaos.world import World
from tests.fakes.model_server import ModelServer

SEED = int(os.environ.get("CHAOS_SEED") or random.randrange(10**9))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only with CHAOS=all, as in `make chaos`")
    config.addinivalue_line("markers", "small_disk: only where a process may mount a file system of its own")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("CHAOS") != "all":
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    disks = [item for item in items if item.get_closest_marker("small_disk")]
    if disks and not possible(Path(tempfile.gettempdir())):
        for item in disks:
            item.add_marker(
                pytest.mark.skip("This machine lets no process mount a disk of its own (unshare, as root).")
            )


def pytest_report_header() -> str:
    return f"chaos: CHAOS_SEED={SEED}"


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    print(f"CHAOS_SEED={SEED}")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
async def world(pool: asyncpg.Pool, dsn: str, tmp_path: Path) -> AsyncIterator[World]:
    async with ModelServer() as model:
        world = World(pool, dsn, model, tmp_path)
        yield world
        await world.close()


@pytest.fixture
def kills() -> int:
    """How many random kills. `CHAOS_KILLS=200` for the long run."""
    return int(os.environ.get("CHAOS_KILLS", "4"))
