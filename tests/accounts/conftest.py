"""The account endpoints of a service, for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from bookgen.store.database import Database
from tests.accounts.door import Door, OpenDoor, opened
from tests.fakes.google_server import GoogleServer


@pytest.fixture
async def open_door(database: Database, tmp_path: Path) -> AsyncIterator[OpenDoor]:
    """Opens services with the test's own settings, on one shared database."""
    async with AsyncExitStack() as closing:

        async def open_door(**settings: Any) -> Door:
            return await closing.enter_async_context(opened(database, tmp_path, **settings))

        yield open_door


@pytest.fixture
async def door(open_door: OpenDoor) -> Door:
    return await open_door()


@pytest.fixture
async def google() -> AsyncIterator[GoogleServer]:
    google = GoogleServer()
    await google.start()
    yield google
    await google.close()
