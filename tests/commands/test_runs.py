"""The operator's commands on runs, next to a service that writes them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import orjson
import pytest

from bookgen.actors.messages import Generate, Pause
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.quota import Quota
from bookgen.commands import runs as operator
from bookgen.commands.cli import COMMANDS
from bookgen.errors import Conflict, InvalidInput, NotFound
from bookgen.models import RunStatus
from bookgen.store.database import Database
from tests.actors.conftest import Model, Shelf, supervising, until

Told = Callable[[str], Awaitable[int]]


@pytest.fixture
async def shelf(database: Database) -> Shelf:
    return Shelf(database.http)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def service(database: Database, model: Model) -> AsyncIterator[Supervisor]:
    async with contextlib.AsyncExitStack() as running:
        yield await running.enter_async_context(supervising(database, model, model.write_chapter))


@pytest.fixture
def bookgen_runs(database: Database) -> Told:
    """Run `bookgen runs LINE`. Returns its exit code."""

    async def told(line: str) -> int:
        parser = argparse.ArgumentParser()
        operator.add_options(parser)
        return await operator.carry_out(parser.parse_args(line.split()), database, Quota(billing=True))

    return told


async def begun(service: Supervisor, model: Model, shelf: Shelf) -> tuple[int, int, str]:
    account, book = await shelf.outlined(2)
    run = await service.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    return account, book, str(run.id)


async def shown(service: Supervisor, account: int, book: int) -> str:
    return str(orjson.loads(await service.statuses.read(account, book))["generation_status"])


def test_runs_is_one_of_the_commands() -> None:
    assert "runs" in COMMANDS


async def test_list_and_show_print_the_state_of_the_runs(
    bookgen_runs: Told, service: Supervisor, model: Model, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, run = await begun(service, model, shelf)

    assert await bookgen_runs("list") == 0
    _, line = capsys.readouterr().out.splitlines()
    assert await bookgen_runs(f"show {run[:13]}") == 0
    rows = capsys.readouterr().out

    assert line.startswith(f"{run}  running         0/2")
    assert line.endswith("@example.com, A book: Writing chapter 1 of 2.")
    assert f"id        {run}\n" in rows
    assert "model     scripted\n" in rows


async def test_pause_resume_and_cancel_reach_the_running_service(
    bookgen_runs: Told, service: Supervisor, model: Model, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    account, book, run = await begun(service, model, shelf)

    await bookgen_runs(f"pause {run}")
    assert await shown(service, account, book) == "paused"
    model.answer(book, 1)
    await shelf.until("SELECT call_started_at IS NULL FROM run WHERE book_id = $1", book)
    assert model.asked[book, 2] == 0

    await bookgen_runs(f"resume {run}")
    await service.sweep()
    await model.wait_until_asked(book, 2)
    assert await shown(service, account, book) == "running"

    await bookgen_runs(f"cancel {run}")
    await model.until(lambda: model.cancelled[book, 2] == 1)
    assert await shown(service, account, book) == "stopped"
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["paused", "running", "stopped"]


async def test_cancelling_a_failed_run_clears_its_cached_status(
    bookgen_runs: Told, service: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book, run = await begun(service, model, shelf)
    model.fail(book, 1, retryable=True)
    await shelf.until_status(book, "error")
    service.registry.clear()
    assert await shown(service, account, book) == "error"  # and is cached
    assert service.statuses.cached(account, book)

    await bookgen_runs(f"cancel {run}")

    await until(lambda: service.statuses.cached(account, book) is None)
    assert await shown(service, account, book) == "stopped"


async def test_all_applies_to_every_run_and_prints_a_line_for_each_refusal(
    bookgen_runs: Told, service: Supervisor, model: Model, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    books = [await begun(service, model, shelf) for _ in range(3)]

    assert await bookgen_runs("pause --all") == 0
    assert {await shown(service, account, book) for account, book, _ in books} == {"paused"}
    assert await bookgen_runs("resume --all") == 0
    await service.sweep()
    assert {await shown(service, account, book) for account, book, _ in books} == {"running"}

    _, held, _ = books[0]
    await shelf.pool.execute(
        "INSERT INTO book_job (book_id, owner, kind) VALUES ($1, $2, 'outline')", held, service.resources.boot_id
    )
    await bookgen_runs("pause --all")
    capsys.readouterr()
    code = await bookgen_runs("resume --all")
    told = capsys.readouterr()
    assert (code, len(told.out.splitlines()), len(told.err.splitlines())) == (1, 2, 1)

    assert await bookgen_runs("cancel --all") == 0
    assert await bookgen_runs("cancel --all") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing to do"
    assert {await shown(service, account, book) for account, book, _ in books} == {"stopped"}


async def test_an_impossible_command_is_refused(
    bookgen_runs: Told, service: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book, run = await begun(service, model, shelf)
    await bookgen_runs(f"cancel {run}")
    await service.ask(account, book, Generate())

    with pytest.raises(Conflict, match="its book has a newer run"):
        await bookgen_runs(f"resume {run}")
    with pytest.raises(NotFound):
        await bookgen_runs("show 00000000-0000")
    with pytest.raises(InvalidInput):
        await bookgen_runs("show x'y")
    with pytest.raises(SystemExit):
        await bookgen_runs("pause")


async def test_it_works_without_a_service_and_writes_an_audit_entry(
    bookgen_runs: Told, database: Database, model: Model, shelf: Shelf
) -> None:
    async with supervising(database, model, model.write_chapter) as service:
        account, book, run = await begun(service, model, shelf)
        await service.ask(account, book, Pause())

    await bookgen_runs(f"resume {run}")

    stored = await shelf.run(book)
    assert (stored["status"], stored["owner"], stored["crash_count"]) == (RunStatus.RUNNING, None, 0)
    assert await shelf.value("SELECT action FROM audit WHERE account_id = $1", account) == "resume-run"
    model.free = True
    async with supervising(database, model, model.write_chapter):
        await shelf.until_status(book, "completed")
