"""Limits set by the operator are kept. Those left open follow what the server shows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bookgen import config
from bookgen.app.providers import build_model
from bookgen.errors import UpstreamAIError
from bookgen.providers.text import StopReason
from bookgen.settings import Config, names
from tests.fakes.model_server import ModelServer
from tests.providers.calls import chapter_request
from tests.virtual_time import run

SLOW = {"delay": 300}  # seconds before the first word
MANY = 6


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in names().values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch):
    """Settings with the address of a local server."""

    def set_all(server: ModelServer, **settings: object) -> Config:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        for name, value in settings.items():
            monkeypatch.setenv(name, str(value))
        return config.load()

    return set_all


def test_a_call_ends_at_the_configured_timeout_even_if_it_equals_the_default(given) -> None:
    async def asked() -> float:
        async with ModelServer() as server:
            server.configure(**SLOW)
            model = build_model(given(server, BOOKGEN_MODEL_TIMEOUT=180), tries=1)
            started = asyncio.get_running_loop().time()
            with pytest.raises(UpstreamAIError):
                await model.complete(replace(chapter_request(), patience=1))
            await model.close()
            return asyncio.get_running_loop().time() - started

    assert run(asked()) < 180


def test_without_a_timeout_a_slow_local_server_is_waited_for(given) -> None:
    async def asked() -> StopReason:
        async with ModelServer() as server:
            server.configure(**SLOW)
            model = build_model(given(server), tries=1)
            reply = await model.complete(replace(chapter_request(), patience=1))
            await model.close()
            return reply.stop

    assert run(asked()) is StopReason.END


@pytest.mark.parametrize(("settings", "at_once"), [({}, 1), ({"BOOKGEN_MODEL_CONCURRENCY": 4}, 4)], ids=["open", "set"])
def test_the_configured_number_of_calls_is_made_at_once_from_the_start(given, settings, at_once) -> None:
    async def asked() -> int:
        async with ModelServer() as server:
            server.configure(**SLOW)
            model = build_model(given(server, **settings))
            calls = [asyncio.create_task(model.complete(chapter_request())) for _ in range(MANY)]
            await server.arrived(at_once)
            await asyncio.sleep(SLOW["delay"] / 2)  # of virtual time: all concurrent calls have arrived
            arrived = len(server.requests)
            await asyncio.gather(*calls)
            await model.close()
            return arrived

    assert run(asked()) == at_once
