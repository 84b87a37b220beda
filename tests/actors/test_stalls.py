"""A chapter of whose last reply nothing comes."""

from __future__ import annotations

import pytest

from bookgen.actors import chapters_in_flight
from bookgen.actors.messages import Resume
from bookgen.actors.supervisor import Supervisor

from .conftest import BeginRun, Model, Shelf


async def test_a_chapter_without_progress_ends_the_run_which_says_so_and_can_be_resumed(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, book = await begun()
    model.poison = {book}
    model.answer(book, 1)
    await model.until(lambda: model.stuck[book] == 1)
    await supervisor.sweep()
    assert (await shelf.run(book))["status"] == "running"

    monkeypatch.setattr(chapters_in_flight, "STALL_SECONDS", -1.0)
    await supervisor.sweep()

    await shelf.until_status(book, "error")
    failure = (await shelf.run(book))["failure"]
    assert (failure["code"], failure["chapter_number"], failure["retryable"]) == ("stalled", 1, True)
    monkeypatch.undo()
    model.free, model.poison = True, set()
    await supervisor.ask(account, book, Resume())
    await shelf.until_status(book, "completed")


async def test_a_call_that_takes_long_is_no_stall(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapters_in_flight, "STALL_SECONDS", -1.0)
    _, book = await begun(chapters=1)

    await supervisor.sweep()
    model.answer(book, 1)

    await shelf.until_status(book, "completed")
