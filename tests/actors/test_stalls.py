"""Chapters without progress."""

from __future__ import annotations

import pytest

from bookgen.actors import runs_in_flight
from bookgen.actors.messages import Generate, Pause, Resume
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import Unavailable
from bookgen.models import RunStatus

from .conftest import BeginRun, Model, Shelf


async def test_a_chapter_without_progress_ends_its_run_with_an_error_that_can_be_resumed(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, book = await begun()
    model.poison = {book}
    model.answer(book, 1)
    await model.until(lambda: model.stuck[book] == 1)
    await supervisor.sweep()
    assert (await shelf.run(book))["status"] == "running"

    monkeypatch.setattr(runs_in_flight, "STALL_SECONDS", -1.0)
    await supervisor.sweep()

    await shelf.until_status(book, "error")
    failure = (await shelf.run(book))["failure"]
    assert (failure["code"], failure["chapter_number"], failure["retryable"]) == ("stalled", 1, True)
    monkeypatch.undo()
    model.free, model.poison = True, set()
    await supervisor.ask(account, book, Resume())
    await shelf.until_status(book, "completed")


@pytest.mark.parametrize("bound", [180.0, None], ids=["within its bound", "that waits for the model"])
async def test_a_long_call_is_not_a_stall(
    begun: BeginRun,
    supervisor: Supervisor,
    model: Model,
    shelf: Shelf,
    monkeypatch: pytest.MonkeyPatch,
    bound: float | None,
) -> None:
    model.bound = bound
    monkeypatch.setattr(runs_in_flight, "STALL_SECONDS", -100.0)
    _, book = await begun(chapters=1)

    await supervisor.sweep()
    model.answer(book, 1)

    await shelf.until_status(book, "completed")


async def test_a_call_beyond_its_time_limit_ends_its_run_with_an_error_that_can_be_resumed(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.bound = 180.0
    account, book = await begun()
    await supervisor.sweep()
    assert (await shelf.run(book))["status"] == "running"

    monkeypatch.setattr(runs_in_flight, "STALL_SECONDS", -181.0)
    await supervisor.sweep()

    await shelf.until_status(book, "error")
    failure = (await shelf.run(book))["failure"]
    assert (failure["code"], failure["retryable"]) == ("stalled", True)
    await model.until(lambda: model.cancelled[book, 1] == 1)
    monkeypatch.undo()
    model.free = True
    await supervisor.ask(account, book, Resume())
    await shelf.until_status(book, "completed")


async def test_a_chapter_that_waited_for_the_database_is_not_a_stall(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, book = await begun(chapters=1)
    model.poison = {book}
    model.answer(book, 1)
    await model.until(lambda: model.stuck[book] == 1)
    health = supervisor.resources.health
    health.saw(Unavailable())
    health.saw_success()

    monkeypatch.setattr(runs_in_flight, "STALL_SECONDS", 0.0)
    monkeypatch.setattr(health, "up_since", health.up_since + 60.0)
    await supervisor.sweep()

    assert [work.stalled for work in supervisor.runs_in_flight.by_run.values()] == [False]
    monkeypatch.setattr(health, "up_since", health.up_since - 120.0)
    await supervisor.sweep()
    await shelf.until_status(book, "error")


async def test_a_paused_call_keeps_its_turn_for_as_long_as_the_call_may_take(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    """A slow local server may take more than three minutes per call. No other run begins meanwhile."""
    model.call_seconds = 3_600.0
    account, book = await begun()
    other = await shelf.book(account)
    await supervisor.ask(account, book, Pause())
    await shelf.pool.execute("UPDATE run SET updated_at = now() - interval '20 minutes' WHERE book_id = $1", book)

    waiting = await supervisor.ask(account, other, Generate())

    assert waiting.status is RunStatus.QUEUED
