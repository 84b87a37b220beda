"""A locked account does not delay other accounts."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from bookgen.actors.messages import Generate, Pause
from bookgen.actors.supervisor import Supervisor
from bookgen.models import RunStatus

from .conftest import BeginRun, Model, Shelf, Start, locked


async def waiting_although_its_slot_is_free(supervisor: Supervisor, begun: BeginRun, shelf: Shelf) -> tuple[int, int]:
    """An account and its book, whose queued run was not promoted although the slot is free."""
    account, first = await begun(supervisor, chapters=1)
    second = await shelf.book(account, 1)
    await supervisor.ask(account, second, Generate())
    supervisor.registry.find_or_make((account, first)).cancel_without_storing()
    await shelf.pool.execute("UPDATE run SET status = 'stopped' WHERE book_id = $1", first)
    return account, second


async def test_commands_for_a_locked_account_do_not_block_other_accounts_or_the_lease(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, dsn: str
) -> None:
    account, book = await begun()
    books = [book, *[await shelf.book(account) for _ in range(7)]]
    for waiting in books[1:]:
        await supervisor.ask(account, waiting, Generate())
    boot_id = supervisor.resources.boot_id

    async with locked(dsn, account):
        pauses = [asyncio.create_task(supervisor.ask(account, each, Pause())) for each in books]
        await shelf.until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')")
        async with asyncio.timeout(3):
            other, other_book = await begun(supervisor)
            assert (await supervisor.ask(other, other_book, Pause())).status is RunStatus.PAUSED
            await supervisor.lease.renew()

    assert {(await pause).status for pause in pauses} == {RunStatus.PAUSED}
    assert supervisor.resources.boot_id == boot_id


async def test_a_sweep_continues_past_a_locked_account(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, dsn: str
) -> None:
    account, waiting = await waiting_although_its_slot_is_free(supervisor, begun, shelf)
    other, idle = await begun(supervisor)
    supervisor.registry.find_or_make((other, idle)).cancel_without_storing()

    async with locked(dsn, account), asyncio.timeout(3):
        await supervisor.sweep()
        await model.wait_until_asked(idle, 1, times=2)
    await supervisor.sweep()

    await model.wait_until_asked(waiting, 1)


async def test_a_process_starts_while_an_account_is_locked(
    begun: BeginRun, supervisor: Supervisor, start: Start, shelf: Shelf, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, _ = await waiting_although_its_slot_is_free(supervisor, begun, shelf)

    async with locked(dsn, account), asyncio.timeout(3):
        another = await start()

    assert another.restored


async def test_a_stop_releases_every_run_except_a_locked_one(
    begun: BeginRun, supervisor: Supervisor, shelf: Shelf, dsn: str
) -> None:
    (_, book), (_, stuck) = await begun(supervisor), await begun(supervisor)
    other = await asyncpg.connect(dsn)
    async with other.transaction():
        await other.execute("SELECT FROM run WHERE book_id = $1 FOR UPDATE", stuck)

        await supervisor.drain(0)

    await other.close()
    assert (await shelf.run(book))["owner"] is None
    assert (await shelf.run(stuck))["owner"] is not None
