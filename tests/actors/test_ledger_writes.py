"""The usage of model calls is recorded whatever happens to the work they were for."""

from __future__ import annotations

import asyncio

import pytest

from bookgen.actors import supervisor as supervisor_module
from bookgen.actors.messages import Generate, Stop
from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.attempt import CallFailed, FailureKind, Provider
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import Spent, TextReply, TextRequest
from bookgen.providers.waits import RetryRules
from bookgen.store.database import Database

from .conftest import Model, Shelf, supervising

ENTERED = "SELECT count(*) = 1 FROM model_call WHERE output_tokens = 20"
OLD = "INSERT INTO model_call (stage, model, created_at) VALUES ('chapter', 'old', now() - interval '3 days')"
WAITS = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'INTO model_call')"


async def test_the_usage_of_a_failed_call_is_recorded_even_if_its_run_is_stopped(
    database: Database, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=1)
    used = (Spent("scripted", Usage(calls=1, input_tokens=10, output_tokens=20)),)
    async with supervising(database, model, model.write_chapter) as supervisor:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
        async with shelf.pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE model_call IN EXCLUSIVE MODE")
            failure = UpstreamAIError("It failed.", stage="chapter", retryable=False, chapter_number=1, spent=used)
            model.fail(book, 1, retryable=False, error=failure)
            await shelf.until(WAITS)

            await supervisor.ask(account, book, Stop())

        await shelf.until(ENTERED)

    assert (await shelf.run(book))["status"] == "stopped"


class Garbled(Provider):
    """A provider whose replies cannot be read. They cost money all the same."""

    name = "garbled"

    def __init__(self) -> None:
        self.failed = asyncio.Event()

    async def attempt(self, request: TextRequest) -> TextReply:
        self.failed.set()
        failed = CallFailed("sent nothing that can be read", FailureKind.GARBLED)
        failed.usage = Usage(calls=1, output_tokens=20)
        raise failed

    def most(self, request: TextRequest) -> Usage:
        return Usage(calls=1)


@pytest.mark.parametrize("stops", ["the run", "the process"])
async def test_the_usage_of_a_call_is_recorded_even_if_it_is_cancelled_before_its_retry(
    database: Database, model: Model, shelf: Shelf, stops: str
) -> None:
    account, book = await shelf.outlined(chapters=1)
    provider = Garbled()
    patient = RetryingModel(provider, pacing=Pacing(concurrency=1), rules=RetryRules(first_delay=60))
    async with supervising(database, patient, model.write_chapter) as supervisor:
        await supervisor.ask(account, book, Generate())
        await provider.failed.wait()

        if stops == "the run":
            await supervisor.ask(account, book, Stop())
            await shelf.until(ENTERED)

    assert await shelf.value(ENTERED)


async def test_a_slow_ledger_does_not_keep_a_run_from_being_released(
    database: Database, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "RELEASE_SECONDS", 0.5)
    account, book = await shelf.outlined(chapters=1)
    used = (Spent("scripted", Usage(calls=1, input_tokens=10, output_tokens=20)),)
    async with shelf.pool.acquire() as connection, supervising(database, model, model.write_chapter) as supervisor:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
        async with connection.transaction():
            await connection.execute("LOCK TABLE model_call IN EXCLUSIVE MODE")
            failure = UpstreamAIError("It failed.", stage="chapter", retryable=False, chapter_number=1, spent=used)
            model.fail(book, 1, retryable=False, error=failure)
            await shelf.until(WAITS)

            await supervisor.drain(0)

            assert (await shelf.run(book))["owner"] is None
            assert not await shelf.value("SELECT EXISTS (SELECT FROM process WHERE lease_until > now())")


async def test_old_calls_are_added_up_for_the_overview(database: Database, model: Model, shelf: Shelf) -> None:
    await shelf.pool.execute(OLD)

    async with supervising(database, model, model.write_chapter) as supervisor:
        await supervisor._prune()

    assert await shelf.pool.fetchval("SELECT calls FROM past_usage WHERE model = 'old'") == 1
