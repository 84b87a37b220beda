"""The provider refuses the server's key or credit during a book: the book waits, says so, and continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bookgen.providers import halt
from bookgen.providers.lockout import Lockout
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.waits import RetryRules
from tests.fakes.model_script import ScriptedFault, fault
from tests.fakes.model_server import ModelServer
from tests.http.conftest import Api, OpenApi, pause
from tests.providers.calls import PROVIDERS

FOREVER = 10**9
BALANCE = "Your credit balance is too low to access the Anthropic API."
REFUSALS = [
    ("anthropic", fault("status", status=401, chapter_number=2, times=FOREVER), "does not accept this server's key"),
    (
        "anthropic",
        fault("status", status=400, message=BALANCE, chapter_number=2, times=FOREVER),
        "no credit left",
    ),
    (
        "responses",
        fault("status", status=429, code="insufficient_quota", chapter_number=2, times=FOREVER),
        "no credit left",
    ),
]


@pytest.fixture
async def models() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


async def serving(open_api: OpenApi, models: ModelServer, provider: str) -> Api:
    """A service whose model retries at once."""
    asked = PROVIDERS[provider](models)
    rules = RetryRules(first_delay=0.01, outage=3_600)
    model = RetryingModel(asked, pacing=Pacing(concurrency=8), rules=rules, lockout=Lockout(asked.name, 0.05, 0.05))
    return await (await open_api(model=model)).as_new_account("ada")


async def until_told(api: Api, book_id: int, words: str) -> str:
    async with asyncio.timeout(20):
        while words not in (seen := (await api.get(f"/books/{book_id}/generation-status/")).body["status_message"]):
            await pause()
    return str(seen)


@pytest.mark.parametrize(("provider", "refusal", "reason"), REFUSALS)
async def test_the_book_waits_and_says_so_and_continues_by_itself(
    open_api: OpenApi,
    models: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    refusal: ScriptedFault,
    reason: str,
) -> None:
    monkeypatch.setattr(halt, "TOLD_SECONDS", 0.0)
    models.script(refusal)
    api = await serving(open_api, models, provider)
    book = await api.outlined(chapter_count=3, target_word_count=600)

    await api.post(f"/books/{book['id']}/generate/")
    told = await until_told(api, book["id"], "The operator has to fix this")
    await api.services.supervisor.sweep()
    metrics = (await api.get("/metrics", prefix="")).raw.decode()
    models.forget_script()

    assert reason in told
    assert "the book continues by itself afterwards. 1 of 3 chapters finished." in told
    assert 'bookgen_model_refuses{model="' in metrics
    status = await api.until(book["id"], "completed")
    assert status["completed_chapters"] == 3
    run = await api.services.database.http.fetchrow("SELECT crash_count, failure FROM run")
    assert tuple(run) == (0, None)


async def test_a_request_that_waits_for_the_model_fails_at_once(open_api: OpenApi, models: ModelServer) -> None:
    api = await serving(open_api, models, "anthropic")
    book = await api.outlined(chapter_count=1, target_word_count=200)
    models.script(fault("status", status=401, times=FOREVER))

    outline = await api.post(f"/books/{book['id']}/generate-outline/")
    chapter = await api.post(f"/chapters/{book['chapters'][0]['id']}/regenerate/")

    for answer in (outline, chapter):
        assert answer.code == "UPSTREAM_AI_ERROR"
        assert "does not accept this server's key" in answer.body["error"]["message"]
        assert answer.body["error"]["details"]["retryable"] is False
