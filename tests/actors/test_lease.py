"""The lease of a process: acquired, renewed, lost, and late responses for an earlier one."""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from bookgen.actors import lease
from bookgen.actors.health import Health
from bookgen.actors.messages import DraftOutline, Generate, WriteNext
from bookgen.actors.recovery import every
from bookgen.actors.resources import LeaseState
from bookgen.actors.supervisor import Supervisor
from bookgen.actors.transaction import Committed
from bookgen.errors import Unavailable
from bookgen.models import Run
from bookgen.store import ownership, processes
from bookgen.store.checkpoints import ChapterStart
from tests import virtual_time

from .conftest import BeginRun, Model, Shelf, Start, until

KNOWN = "SELECT EXISTS (SELECT FROM process WHERE boot_id = $1)"


async def test_a_chapter_begun_under_a_lost_lease_is_not_generated(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = await start(), await start()
    account, book = await shelf.outlined()
    run = await process.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    actor = process.registry.find((account, book))
    actor.cancel()
    begin, announced, go_on = process.runs_in_flight.begin, asyncio.Event(), asyncio.Event()

    async def late(run: Run) -> ChapterStart | None:
        begun = await begin(run)
        announced.set()
        await go_on.wait()
        return begun

    monkeypatch.setattr(process.runs_in_flight, "begin", late)
    process.registry.tell((account, book), WriteNext(run))
    await announced.wait()

    process.lease._lost()
    go_on.set()
    await until(lambda: actor.idle and not actor.writing)

    assert model.asked[book, 1] == 1
    assert (await shelf.run(book))["status"] == "running"


async def test_a_command_that_spans_a_lost_lease_starts_its_run_once(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account, book = await shelf.outlined()
    steer, tries = process.transactions.steer, iter([True])

    async def lose_the_lease_first(*arguments: Any) -> Committed:
        if next(tries, False):
            process.lease._lost()
            raise Unavailable
        return await steer(*arguments)

    monkeypatch.setattr(process.transactions, "steer", lose_the_lease_first)

    run = await process.ask(account, book, Generate())

    assert run.owner == process.resources.boot_id
    assert process.recovery._is_busy_with(run)  # otherwise the next sweep would begin it a second time
    await model.wait_until_asked(book, 1)


async def test_no_command_is_accepted_without_a_lease(start: Start, shelf: Shelf) -> None:
    process = await start()
    account, book = await shelf.outlined()
    process.lease._lost()

    with pytest.raises(Unavailable):
        await process.ask(account, book, Generate())

    await until(lambda: process.resources.lease_state is LeaseState.HELD)
    await process.ask(account, book, Generate())


async def test_an_expired_lease_cancels_the_work_in_flight(begun: BeginRun, start: Start, model: Model) -> None:
    owner, _ = await start(), await start()
    _, book = await begun(owner)
    await owner.lease.renew()
    before = owner.resources.boot_id

    owner.lease._ran_out()

    await model.until(lambda: model.cancelled[book, 1] == 1)
    assert owner.resources.boot_id != before


async def test_a_lease_whose_row_is_gone_is_lost(begun: BeginRun, start: Start, model: Model, shelf: Shelf) -> None:
    owner = await start()
    _, book = await begun(owner)
    before = owner.resources.boot_id
    await shelf.pool.execute("DELETE FROM process")

    await owner.lease.renew()

    await model.until(lambda: model.cancelled[book, 1] == 1)
    assert owner.resources.boot_id != before
    assert await shelf.value("SELECT boot_id FROM process") == owner.resources.boot_id


async def test_a_single_process_continues_when_its_lease_expires(begun: BeginRun, start: Start, model: Model) -> None:
    owner = await start()
    _, book = await begun(owner)

    owner.lease._ran_out()
    model.answer(book, 1)

    await model.wait_until_asked(book, 2)
    assert not model.cancelled


async def test_a_late_renewal_of_a_lost_lease_does_not_shorten_the_next_one(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = await start(), await start()
    its_lease, before = process.lease, process.resources.boot_id
    monkeypatch.setattr(lease, "FENCE_SECONDS", 0.2)
    await its_lease.renew()
    monkeypatch.setattr(lease, "FENCE_SECONDS", 20.0)
    renew, renewed, let_go = processes.renew, list[uuid.UUID](), asyncio.Event()

    async def of_the_lost_one_late(pool: Any, boot_id: uuid.UUID, seconds: float) -> Any:
        renewal = await renew(pool, boot_id, seconds)
        renewed.append(boot_id)
        if boot_id == before:
            await let_go.wait()
        return renewal

    monkeypatch.setattr(processes, "renew", of_the_lost_one_late)
    late = asyncio.create_task(its_lease.renew())
    await until(lambda: process.resources.boot_id != before and process.resources.boot_id in renewed)
    held = process.resources.boot_id
    monkeypatch.setattr(lease, "FENCE_SECONDS", 0.0)

    let_go.set()
    await late
    for _ in range(3):
        await asyncio.sleep(0)

    assert process.resources.boot_id == held


async def test_a_late_response_does_not_shorten_a_lease_renewed_since_then(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    renew, late = processes.renew, asyncio.Event()

    async def first_answer_comes_last(*arguments: Any) -> Any:
        monkeypatch.setattr(processes, "renew", renew)
        renewal = await renew(*arguments)
        await late.wait()
        return renewal

    monkeypatch.setattr(processes, "renew", first_answer_comes_last)
    first = asyncio.create_task(process.lease.renew())
    await asyncio.sleep(0)
    await process.lease.renew()
    due = process.lease.ends_at

    late.set()
    await first

    assert process.lease.ends_at == due


async def test_a_lease_that_was_slow_to_acquire_is_renewed_at_once(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = await start(), await start()
    register, answered = processes.register, list[float]()

    async def told_late(*arguments: Any, **named: Any) -> None:
        await register(*arguments, **named)
        await asyncio.sleep(0.05)
        answered.append(asyncio.get_running_loop().time())

    monkeypatch.setattr(processes, "register", told_late)
    process.lease._lost()

    def counts_from_the_answer() -> bool:
        return bool(answered) and process.lease.ends_at >= answered[0] + lease.FENCE_SECONDS

    async with asyncio.timeout(lease.RENEW_SECONDS / 2):  # the next regular renewal would be later
        await until(counts_from_the_answer)


async def test_a_lease_that_was_slow_to_renew_is_renewed_once_more(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    renew, answered = processes.renew, list[float]()

    async def told_late(*arguments: Any) -> Any:
        renewal = await renew(*arguments)
        await asyncio.sleep(0.05)
        answered.append(asyncio.get_running_loop().time())
        return renewal

    monkeypatch.setattr(processes, "renew", told_late)
    monkeypatch.setattr(lease, "RENEW_AGAIN_SECONDS", 0.01)

    await process.lease.renew()

    assert process.lease.ends_at >= answered[0] + lease.FENCE_SECONDS


async def test_concurrent_attempts_acquire_one_lease(start: Start, shelf: Shelf) -> None:
    process = await start()

    process.lease._lost()  # and acquires another one
    await asyncio.gather(process.lease.take(), process.lease.take())

    assert process.resources.lease_state is LeaseState.HELD
    assert await shelf.value("SELECT count(*) FROM process") == 2


async def test_a_process_with_an_expired_lease_does_not_claim_its_own_runs(
    begun: BeginRun, start: Start, shelf: Shelf
) -> None:
    supervisor = await start()
    await begun()
    boot_id = supervisor.resources.boot_id
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second' WHERE boot_id = $1", boot_id)

    assert await ownership.claim(shelf.pool, boot_id, 10) == []

    assert len(await ownership.claim(shelf.pool, uuid.uuid4(), 10)) == 1


async def test_after_a_clock_jump_no_run_is_claimed_from_a_process_that_has_not_renewed_yet(
    begun: BeginRun, start: Start, shelf: Shelf
) -> None:
    owner, other = await start(), await start()
    _, book = await begun(owner)
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '10 seconds'")

    await other.sweep()
    await other.lease.renew()
    await other.sweep()
    untouched = await shelf.run(book)
    other.lease._settled_at = 0.0  # the grace period of the owner is over
    await other.sweep()

    assert (untouched["owner"], untouched["epoch"]) == (owner.resources.boot_id, 1)
    assert (await shelf.run(book))["owner"] == other.resources.boot_id


async def test_a_process_started_after_a_clock_jump_does_not_delete_live_processes(start: Start, shelf: Shelf) -> None:
    owner = await start()
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 hour'")
    newcomer = await start()

    await newcomer._prune()

    assert await shelf.pool.fetchval(KNOWN, owner.resources.boot_id)
    newcomer.lease._held_from = -math.inf  # the grace period of the owner is over
    await newcomer._prune()
    assert not await shelf.pool.fetchval(KNOWN, owner.resources.boot_id)


async def test_a_process_that_saw_a_clock_jump_does_not_delete_live_processes(start: Start, shelf: Shelf) -> None:
    owner, other = await start(), await start()
    other.lease._held_from = -math.inf
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 hour'")

    await other._prune()
    await other.lease.renew()
    await other._prune()

    assert await shelf.pool.fetchval(KNOWN, owner.resources.boot_id)


async def test_a_process_that_lost_its_lease_deletes_no_other_process_before_it_holds_a_new_one(
    start: Start, shelf: Shelf
) -> None:
    owner, other = await start(), await start()
    other.lease._held_from = -math.inf
    other.lease._lost()
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 hour'")
    await processes.register(shelf.pool, other.resources.boot_id, "here", 1, "", lease.TTL_SECONDS)

    await other._prune()

    assert await shelf.pool.fetchval(KNOWN, owner.resources.boot_id)


async def test_the_runs_of_a_dead_process_on_this_machine_are_claimed_without_waiting(
    start: Start, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    gone = uuid.uuid4()
    await shelf.pool.execute(
        "INSERT INTO process (boot_id, host, pid, pid_started, lease_until) VALUES ($1, $2, $3, '1', 'infinity')",
        gone,
        lease.this_host(),
        2**22 - 1,
    )
    await shelf.pool.execute(
        """INSERT INTO run (id, book_id, account_id, status, mode, total, owner, epoch)
           VALUES (gen_random_uuid(), $1, $2, 'running', 'full', 3, $3, 1)""",
        book,
        account,
        gone,
    )

    await start()

    await model.wait_until_asked(book, 1)


async def test_no_run_is_claimed_before_the_new_lease_is_acquired(
    begun: BeginRun, supervisor: Supervisor, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, book = await begun()
    before = supervisor.resources.boot_id
    monkeypatch.setattr(supervisor.lease, "take", asyncio.Event().wait)
    supervisor.lease._lost()
    await shelf.pool.execute("UPDATE process SET lease_until = now() WHERE boot_id = $1", before)

    await supervisor.sweep()

    assert (await shelf.run(book))["owner"] == before


@pytest.mark.parametrize("end", ["lease lost", "drain"])
async def test_a_reply_dropped_with_the_lease_or_at_shutdown_is_in_the_ledger(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf, end: str
) -> None:
    owner = await start()
    _, book = await begun(owner)
    model.poison = {book}
    model.answer(book, 1)
    await model.until(lambda: model.stuck[book] == 1)
    assert not await shelf.value("SELECT EXISTS (SELECT FROM model_call WHERE book_id = $1)", book)

    if end == "drain":
        await owner.drain(0)
    else:
        owner.lease._lost()
        await shelf.until("SELECT EXISTS (SELECT FROM model_call WHERE book_id = $1)", book)

    assert await shelf.value("SELECT output_tokens FROM model_call WHERE book_id = $1", book) == 20
    assert not await shelf.value("SELECT EXISTS (SELECT FROM step WHERE book_id = $1)", book)


def test_a_renewal_that_failed_in_an_outage_is_retried_before_the_lease_expires() -> None:
    tried: list[float] = []
    resources: Any = SimpleNamespace(health=Health())

    async def scenario() -> None:
        clock = asyncio.get_running_loop().time
        began = clock()

        async def renew() -> None:
            tried.append(clock() - began)
            raise Unavailable

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(lease.FENCE_SECONDS):
                await every(lease.RENEW_SECONDS, renew, resources, again=lease.RENEW_AGAIN_SECONDS)

    virtual_time.run(scenario())

    assert len(tried) >= 4


async def test_a_sweep_without_a_lease_does_not_mark_the_database_as_up(start: Start) -> None:
    process = await start()
    process.resources.health.saw(Unavailable())
    process.resources.lease_state = LeaseState.NONE
    sweeping = asyncio.create_task(every(0.01, process.sweep, process.resources))
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await process.resources.health.wait()
    finally:
        sweeping.cancel()


async def test_no_run_is_claimed_between_a_lost_lease_and_the_next(start: Start, shelf: Shelf) -> None:
    process = await start()
    account, book = await shelf.outlined()
    process.resources.lease_state = LeaseState.NONE
    steer = process.transactions.steer

    with pytest.raises(Unavailable):
        await steer(account, book, Generate(), uuid.uuid4())

    assert await shelf.value("SELECT count(*) FROM run") == 0
    process.resources.lease_state = LeaseState.HELD
    await steer(account, book, Generate(), uuid.uuid4())
    assert (await shelf.run(book))["owner"] == process.resources.boot_id


async def test_a_single_process_with_an_expired_lease_takes_no_run_before_it_renews(start: Start, shelf: Shelf) -> None:
    process = await start()
    account, book = await shelf.outlined()
    process.lease._ran_out()

    with pytest.raises(Unavailable):
        await process.transactions.steer(account, book, Generate(), uuid.uuid4())
    assert not await process.sweep()

    await process.lease.renew()
    assert (await process.ask(account, book, Generate())).owner == process.resources.boot_id
    assert await process.sweep()


async def test_a_single_process_with_an_expired_lease_begins_no_job_before_it_renews(
    start: Start, model: Model, shelf: Shelf
) -> None:
    process = await start()
    account, book = await shelf.outlined(chapters=0)
    model.free = True
    process.lease._ran_out()

    with pytest.raises(Unavailable):
        await process.run_job(account, book, DraftOutline())

    assert not model.asked
    await process.lease.renew()
    await process.run_job(account, book, DraftOutline())


async def test_a_start_completes_only_after_a_sweep_under_a_lease(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, swept = Supervisor.sweep, []

    async def lost_at_first(supervisor: Supervisor) -> bool:
        supervisor.resources.lease_state = LeaseState.HELD if swept else LeaseState.NONE
        swept.append(await sweep(supervisor))
        return swept[-1]

    monkeypatch.setattr(Supervisor, "sweep", lost_at_first)

    process = await start()

    assert process.restored
    assert swept[:2] == [False, True]


async def test_a_lease_that_expires_during_the_start_is_renewed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep, swept = Supervisor.sweep, []

    async def run_out_at_first(supervisor: Supervisor) -> bool:
        if not swept:
            supervisor.lease._ran_out()
        swept.append(await sweep(supervisor))
        return swept[-1]

    monkeypatch.setattr(Supervisor, "sweep", run_out_at_first)
    monkeypatch.setattr("bookgen.actors.supervisor.RENEW_SECONDS", 0.01)

    async with asyncio.timeout(10):
        process = await start()

    assert process.restored
    assert swept[0] is False
