"""A pause inside a chapter, with the real writing code: between its text, its repair and its digest."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bookgen.actors.messages import Command, Generate, Pause, Resume, Stop
from bookgen.actors.supervisor import Supervisor
from bookgen.models import Usage
from bookgen.providers.attempt import CallFailed, FailureKind, Provider
from bookgen.providers.offline import OfflineModel
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.providers.waits import RetryRules
from bookgen.store.database import Database
from bookgen.writing.chapter import write_chapter

from .conftest import Shelf, supervising, until

FLAW = (
    "\n\nSie ging am Abend noch einmal hinunter an den Hafen, weil das Boot nicht gekommen war, und sah lange auf das "
    "Wasser, bis es dunkel wurde und niemand mehr auf der Mole stand, der etwas gesehen haben konnte."
)


class Gated(OfflineModel):
    """Answers like the offline model. Calls of the stage `held` wait for `let_go`, and chapters have a flaw."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self.held = ""
        self.waits, self.let_go = asyncio.Event(), asyncio.Event()

    async def complete(self, request: TextRequest) -> TextReply:
        self.asked[request.stage] += 1
        if request.stage == self.held:
            self.waits.set()
            await self.let_go.wait()
        reply = await super().complete(request)
        return replace(reply, text=reply.text + FLAW) if request.stage == "chapter" else reply


@pytest.fixture
def gated() -> Gated:
    return Gated()


@pytest.fixture
async def writer(database: Database, gated: Gated) -> AsyncIterator[Supervisor]:
    async with supervising(database, gated, write_chapter) as supervisor:
        yield supervisor


@pytest.mark.parametrize(("during", "next_stage"), [("chapter", "revise"), ("revise", None), ("digest", None)])
async def test_a_pause_between_the_calls_of_a_chapter_makes_no_call_and_loses_no_reply(
    writer: Supervisor, gated: Gated, shelf: Shelf, during: str, next_stage: str | None
) -> None:
    account, book = await shelf.outlined(chapters=2 if during == "digest" else 1)
    gated.held = during
    await writer.ask(account, book, Generate())
    await gated.waits.wait()

    await writer.ask(account, book, Pause())
    gated.let_go.set()
    ended = "SELECT status = $2 AND call_started_at IS NULL FROM run WHERE book_id = $1"
    await shelf.until(ended, book, "completed" if during == "revise" else "paused")

    asked = gated.asked.copy()
    assert gated.asked[next_stage or "nothing"] == 0
    assert bool((await shelf.texts(book))[0]) is (next_stage is None)
    if during != "revise":
        await writer.ask(account, book, Resume())
        await shelf.until_status(book, "completed")
    assert gated.asked[during] == asked[during]
    assert await shelf.value("SELECT count(*) FROM digest") == gated.asked["digest"] == (during == "digest")
    assert await shelf.value("SELECT count(*) FROM model_call") == gated.asked.total()
    assert gated.asked["revise"]


@pytest.mark.parametrize("goes_on", [(Resume(),), (Stop(), Generate())])
async def test_a_chapter_finished_during_a_pause_is_saved_before_its_digest_is_made(
    writer: Supervisor, gated: Gated, shelf: Shelf, goes_on: tuple[Command, ...]
) -> None:
    account, book = await shelf.outlined(chapters=2)
    gated.held = "revise"
    await writer.ask(account, book, Generate())
    await gated.waits.wait()

    await writer.ask(account, book, Pause())
    gated.let_go.set()
    await shelf.until("SELECT call_started_at IS NULL FROM run WHERE book_id = $1", book)

    assert (await shelf.run(book))["status"] == "paused"
    assert [bool(text) for text in await shelf.texts(book)] == [True, False]
    asked = gated.asked["chapter"]
    for command in goes_on:
        await writer.ask(account, book, command)
    await shelf.until_status(book, "completed")
    assert gated.asked["chapter"] == 2 * asked
    assert await shelf.value("SELECT count(*) FROM digest") == gated.asked["digest"] == 1
    assert await shelf.value("SELECT count(*) FROM model_call") == gated.asked.total()


async def test_a_drain_between_the_calls_of_a_chapter_makes_no_call_and_keeps_the_run_running(
    writer: Supervisor, gated: Gated, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=1)
    gated.held = "chapter"
    await writer.ask(account, book, Generate())
    await gated.waits.wait()

    draining = asyncio.create_task(writer.drain(10))
    await until(lambda: writer.resources.draining)
    gated.let_go.set()
    await draining

    run = await shelf.run(book)
    assert (run["status"], run["owner"], run["call_started_at"]) == ("running", None, None)
    assert gated.asked["revise"] == 0
    assert await shelf.value("SELECT count(*) FROM step") == gated.asked.total()


class Down(Provider):
    """A provider that is always unreachable."""

    name = "down"

    def __init__(self) -> None:
        self.tried = asyncio.Event()

    async def attempt(self, request: TextRequest) -> TextReply:
        self.tried.set()
        raise CallFailed("is away", FailureKind.AWAY)

    def most(self, request: TextRequest) -> Usage:
        return Usage(calls=1)


@pytest.mark.parametrize("how", ["pause", "stop signal"])
async def test_a_chapter_whose_call_is_backing_off_gives_up_its_turn_and_keeps_its_state(
    database: Database, shelf: Shelf, how: str
) -> None:
    provider = Down()
    model = RetryingModel(provider, pacing=Pacing(concurrency=1), rules=RetryRules(first_delay=60))
    account = await shelf.account()
    first, second = await shelf.book(account), await shelf.book(account)
    async with supervising(database, model, write_chapter) as supervisor:
        await supervisor.ask(account, first, Generate())
        await supervisor.ask(account, second, Generate())
        await provider.tried.wait()

        if how == "pause":
            await supervisor.ask(account, first, Pause())
            await shelf.until_status(second, "running")
        async with asyncio.timeout(10):
            await supervisor.drain(30)

    assert (await shelf.run(first))["status"] == ("paused" if how == "pause" else "running")
    assert (await shelf.run(first))["failure"] is None


@pytest.mark.parametrize(
    "elsewhere", ["UPDATE run SET epoch = epoch + 1, owner = gen_random_uuid()", "UPDATE run SET status = 'paused'"]
)
async def test_no_further_call_is_made_for_a_run_that_another_process_took_over_or_paused(
    writer: Supervisor, gated: Gated, shelf: Shelf, elsewhere: str
) -> None:
    account, book = await shelf.outlined(chapters=1)
    gated.held = "chapter"
    await writer.ask(account, book, Generate())
    await gated.waits.wait()
    await shelf.pool.execute(elsewhere)

    gated.let_go.set()
    await until(lambda: not writer.runs_in_flight.by_run)

    assert gated.asked.total() == 1
    assert await shelf.value("SELECT count(*) FROM step") == await shelf.value("SELECT count(*) FROM model_call") == 1
