from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running
