"""A book keeps its writer: another model continues it only if the operator says so."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest

from bookgen.actors.messages import DraftOutline, Generate, Pause, Resume, ReworkChapters, RewriteChapter, Stop
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import Conflict
from bookgen.models import RunStatus
from bookgen.store.database import Database
from bookgen.writing.material import ChapterDraft

from .conftest import Model, Shelf, crash, supervising

REAL, OTHER, OFFLINE = "anthropic:claude-test", "openai:gpt-test", "offline"


class ModelOfWriter(Model):
    """A test model with a name, which it records with its chapters."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    async def write_chapter(self, *args: Any, **kwargs: Any) -> ChapterDraft:
        draft = await super().write_chapter(*args, **kwargs)
        return ChapterDraft(draft.content, draft.word_count, draft.digest, writer=self.name)


Process = Callable[..., Awaitable[tuple[Supervisor, ModelOfWriter]]]


@pytest.fixture
async def process(database: Database) -> AsyncIterator[Process]:
    """Starts a process with this model. `named`: the operator has named it; `free`: it answers at once."""
    async with contextlib.AsyncExitStack() as running:

        async def process(name: str, *, named: bool = False, free: bool = False) -> tuple[Supervisor, ModelOfWriter]:
            model = ModelOfWriter(name)
            model.free = free
            started = supervising(database, model, model.write_chapter, names_model=named)
            return await running.enter_async_context(started), model

        yield process


async def begun_by(process: Process, shelf: Shelf, name: str = REAL) -> tuple[Supervisor, int, int]:
    """A book of three chapters. A process with this model has written the first and asks for the second."""
    supervisor, model = await process(name)
    account, book = await shelf.outlined(3)
    await supervisor.ask(account, book, Generate())
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)
    return supervisor, account, book


async def status(supervisor: Supervisor, account: int, book: int) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(await supervisor.statuses.read(account, book))
    return told


async def writers(shelf: Shelf, book: int) -> list[str]:
    rows = await shelf.pool.fetch("SELECT writer FROM chapter WHERE book_id = $1 ORDER BY chapter_number", book)
    return [row["writer"] for row in rows]


async def test_a_run_records_the_model_it_starts_with(process: Process, shelf: Shelf) -> None:
    _, _, book = await begun_by(process, shelf)

    assert (await shelf.run(book))["writer"] == REAL
    assert await writers(shelf, book) == [REAL, "", ""]


@pytest.mark.parametrize("end", ["drained", "killed"])
@pytest.mark.parametrize("named", [False, True])
async def test_the_sample_model_never_continues_a_book_of_a_real_model(
    process: Process, shelf: Shelf, end: str, named: bool
) -> None:
    first, account, book = await begun_by(process, shelf)
    await (first.drain(0) if end == "drained" else crash(first, shelf))

    without, offline = await process(OFFLINE, named=named, free=True)
    for _ in range(3):
        await without.sweep()

    run, told = await shelf.run(book), await status(without, account, book)
    assert sum(offline.asked.values()) == 0
    assert (run["status"], run["owner"], run["call_started_at"], run["crash_count"]) == ("running", None, None, 0)
    assert told["generation_status"] == "running"
    assert told["status_message"] == (
        f"This book is being written by {REAL}, which is not set up on this server now. "
        "The book continues by itself when the operator has set the model's key again. 1 of 3 chapters finished."
    )


async def test_a_waiting_run_continues_when_its_model_is_back(process: Process, shelf: Shelf) -> None:
    first, _, book = await begun_by(process, shelf)
    await crash(first, shelf)
    without, _ = await process(OFFLINE)
    await without.sweep()
    epoch = (await shelf.run(book))["epoch"]

    _, model = await process(REAL, free=True)  # next to a process without a key

    await shelf.until_status(book, "completed")
    assert model.asked == {(book, 2): 1, (book, 3): 1}
    assert (await shelf.run(book))["epoch"] > epoch
    assert await writers(shelf, book) == [REAL] * 3


async def test_another_model_continues_only_if_the_operator_has_named_it(process: Process, shelf: Shelf) -> None:
    first, _, book = await begun_by(process, shelf)
    await first.drain(0)
    chosen, other = await process(OTHER, free=True)
    await chosen.sweep()
    assert sum(other.asked.values()) == 0
    await chosen.drain(0)

    await process(OTHER, named=True, free=True)

    await shelf.until_status(book, "completed")
    assert (await shelf.run(book))["writer"] == OTHER
    assert await writers(shelf, book) == [REAL, OTHER, OTHER]


async def test_any_model_may_continue_a_book_of_sample_text(process: Process, shelf: Shelf) -> None:
    first, _, book = await begun_by(process, shelf, OFFLINE)
    await first.drain(0)

    await process(REAL, free=True)

    await shelf.until_status(book, "completed")
    assert await writers(shelf, book) == [OFFLINE, REAL, REAL]


async def test_a_waiting_run_blocks_no_other_account_and_accepts_commands(process: Process, shelf: Shelf) -> None:
    first, account, book = await begun_by(process, shelf)
    await first.drain(0)
    without, offline = await process(OFFLINE, free=True)

    other_account, other_book = await shelf.outlined(2)
    await without.ask(other_account, other_book, Generate())
    await shelf.until_status(other_book, "completed")

    assert (await without.ask(account, book, Pause())).status is RunStatus.PAUSED
    assert (await without.ask(account, book, Resume())).status is RunStatus.RUNNING
    await shelf.until("SELECT owner IS NULL FROM run WHERE book_id = $1", book)
    assert (await without.ask(account, book, Stop())).status is RunStatus.STOPPED
    assert {called for called, _ in offline.asked} == {other_book}


async def test_a_new_run_on_a_partly_written_book_waits_for_the_model_that_wrote_it(
    process: Process, shelf: Shelf
) -> None:
    first, account, book = await begun_by(process, shelf)
    await first.ask(account, book, Stop())
    await first.drain(0)
    without, offline = await process(OFFLINE, free=True)

    run = await without.ask(account, book, Generate())
    await shelf.until("SELECT owner IS NULL FROM run WHERE id = $1", run.id)
    assert "is being written by" in (await status(without, account, book))["status_message"]
    assert sum(offline.asked.values()) == 0

    await process(REAL, free=True)
    await shelf.until_status(book, "completed")
    assert await writers(shelf, book) == [REAL] * 3


async def test_sample_text_never_replaces_a_chapter_of_a_real_model(process: Process, shelf: Shelf) -> None:
    first, account, book = await begun_by(process, shelf)
    await first.ask(account, book, Stop())
    await first.drain(0)
    without, offline = await process(OFFLINE, free=True)
    chapter = await shelf.chapter_id(book, 1)

    for job in (RewriteChapter(chapter, 1), ReworkChapters((chapter,), "")):
        with pytest.raises(Conflict, match=f"This book was written by {REAL}"):
            await without.run_job(account, book, job)
    assert sum(offline.asked.values()) == 0

    await without.run_job(account, book, DraftOutline())  # a new outline resets the writer
    await without.ask(account, book, Generate())
    await shelf.until_status(book, "completed")
    assert await writers(shelf, book) == [OFFLINE] * 3


async def test_processes_with_different_models_do_not_take_each_others_runs(process: Process, shelf: Shelf) -> None:
    first, model = await process(REAL)
    books = [await shelf.outlined(2) for _ in range(4)]
    for account, book in books:
        await first.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)

    without, _ = await process(OFFLINE)
    for _ in range(2):
        await first.sweep()
        await without.sweep()
    surplus = first.runs_in_flight.surplus
    await first.drain(0)
    third, _ = await process(REAL, free=True)

    assert surplus == 0
    for _, book in books:
        await shelf.until_status(book, "completed")
    assert third.runs_in_flight.surplus == 0


class UnnamedModel(ModelOfWriter):
    """The only model of a local server, which reports its name once it is `there`."""

    def __init__(self, *, there: bool) -> None:
        super().__init__("openai:auto")
        self.there, self.free = there, True

    async def find_name(self) -> None:
        if self.there:
            self.name = OTHER


@pytest.mark.parametrize("there", [True, False])
async def test_the_only_model_of_a_server_is_identified_by_the_name_it_reports(
    process: Process, database: Database, shelf: Shelf, there: bool
) -> None:
    first, _, book = await begun_by(process, shelf, OTHER)
    await first.drain(0)
    model = UnnamedModel(there=there)

    async with supervising(database, model, model.write_chapter) as service:
        if not there:
            await service.sweep()
            assert sum(model.asked.values()) == 0
            model.there = True
            assert await service.lease.tell_writer()
            await service.sweep()
        await shelf.until_status(book, "completed")

    assert (await shelf.run(book))["writer"] == OTHER


async def test_a_run_whose_models_name_is_unknown_records_it_with_its_first_chapter(
    database: Database, shelf: Shelf
) -> None:
    model = UnnamedModel(there=False)
    async with supervising(database, model, model.write_chapter) as service:
        account, book = await shelf.outlined(2)
        model.kept = {(book, 1)}
        await service.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
        before = (await shelf.run(book))["writer"]
        model.name = OTHER  # its first call finds out the name
        model.answer(book, 1)
        await shelf.until_status(book, "completed")

    assert (before, (await shelf.run(book))["writer"]) == (None, OTHER)
