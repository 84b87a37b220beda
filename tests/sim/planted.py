"""Bugs planted in the product on purpose, to check that the simulation finds them.

Each removes a fence, leaves something out of a statement, or reverts a fix, as might happen by mistake.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import uuid4

import asyncpg

from bookgen.actors import (
    actor,
    book,
    jobs,
    lease,
    recovery,
    run_transitions,
    runs_in_flight,
    steps,
    supervisor,
    transaction,
)
from bookgen.actors.health import Health
from bookgen.actors.resources import LeaseState
from bookgen.errors import Unavailable
from bookgen.models import RunStatus
from bookgen.store import (
    books,
    chapters,
    checkpoints,
    holds,
    material,
    model_calls,
    outages,
    ownership,
    revisions,
    runs,
)
from bookgen.store import jobs as stored_jobs
from bookgen.store import steps as stored_steps

READ_ONLY, STALLED, FULL = "25006", "57014", "53100"


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """A description, and what plants the bug."""

    name: str
    patches: Callable[[], list[Any]]


def sql(module: Any, constant: str, old: str, new: str) -> Callable[[], list[Any]]:
    """Replace a part of a statement."""

    def patches() -> list[Any]:
        statement = getattr(module, constant)
        assert old in statement, (constant, old)
        return [mock.patch.object(module, constant, statement.replace(old, new))]

    return patches


def instead(owner: Any, attribute: str, replacement: Any) -> Callable[[], list[Any]]:
    return lambda: [mock.patch.object(owner, attribute, replacement)]


async def nothing(*_: Any, **__: Any) -> None:
    pass


async def always(*_: Any, **__: Any) -> bool:
    return True


async def never(*_: Any, **__: Any) -> bool:
    return False


def idle(*_: Any, **__: Any) -> None:
    pass


def without(effect: run_transitions.Effect) -> Callable[[], list[Any]]:
    """Decisions without an effect."""
    real = run_transitions.decide

    def forgetful(*arguments: Any) -> run_transitions.Decision:
        decision = real(*arguments)
        return run_transitions.Decision(decision.run, decision.effects - {effect})

    return instead(transaction, "decide", forgetful)


def taken_for_a_bug(state: str) -> Callable[[], list[Any]]:
    """A server error that crashes the actor, as if the statement were wrong."""
    real = outages.is_transient
    return instead(outages, "is_transient", lambda error: outages.sqlstate(error) != state and real(error))


def stale_plans_are_bugs(error: BaseException) -> bool:
    return not isinstance(error, asyncpg.InvalidCachedStatementError) and outages_is_transient(error)


outages_is_transient = outages.is_transient


async def steer_anew_each_time(self: book.BookActor, command: Any) -> Any:
    committed = await self._resources.health.through_outages(
        lambda: self._transactions.steer(*self.key, command, uuid4()), seconds=book.COMMAND_SECONDS
    )
    self._after_change(committed)
    return committed.run


async def answer_before_the_commit(self: book.BookActor, command: Any) -> Any:
    """The first try determines the answer, and its rollback goes unnoticed."""
    known: list[Any] = []
    carry_out = self._transactions._carry_out

    async def overheard(*arguments: Any) -> Any:
        known.append(await carry_out(*arguments))
        return known[-1]

    with mock.patch.object(self._transactions, "_carry_out", overheard):
        try:
            committed = await self._transactions.steer(*self.key, command, uuid4())
        except Unavailable:
            if not known:
                raise
            return known[-1].run
    self._after_change(committed)
    return committed.run


async def crash_for_a_command(self: actor.Actor, message: Any, answer: Any) -> None:
    try:
        result = await self.receive(message)
    except Exception as error:
        if answer is not None:
            actor._answer(answer, error=error)
        raise
    if answer is not None:
        actor._answer(answer, result)


async def drop_what_was_fenced_off(self: Any, work: Any, written: Any) -> Any:
    async with self._resources.pool.acquire() as connection, connection.transaction():
        checkpoint = await checkpoints.commit(connection, work.finished(written))
    work.steps.unstored = None
    return checkpoint


def cancel_without_a_trace(self: Any, work: Any) -> None:
    work.steps.unstored = None
    self.cancel(work)


async def forget_what_an_outage_interrupts(self: Any, message: Any) -> None:
    """Like `_despite_outages` without a retry."""
    with contextlib.suppress(Unavailable):
        match message:
            case book.RowChanged():
                await self._look()
            case book.WriteNext(run=run):
                await self._write_next(run)
            case book.TaskEnded(task=task):
                await self._save_ended_task(task)


async def give_up_at_once(self: Health, operation: Any, **_: Any) -> Any:
    return await operation()


def another_number_each_time(calls: Any) -> Any:
    return ([uuid4() for _ in calls], *values_of(calls)[1:])


values_of = model_calls.values_of


def lose_and_claim_on(self: lease.Lease) -> None:
    """Continue under a name without a lease until the next renewal."""
    with mock.patch.object(lease, "spawn", lambda coroutine: coroutine.close()):
        lost(self)
    self._resources.lease_state = LeaseState.HELD


lost = lease.Lease._lost


async def room_for_all(db: Any, owner: Any) -> ownership.Balance:
    return replace(await balance(db, owner), room=recovery.CLAIM_ROWS, surplus=0)


balance = ownership.balance


async def sweep_that_says_nothing(self: supervisor.Supervisor) -> None:
    await swept(self)


swept = supervisor.Supervisor.sweep


async def remove_instead_of_keeping(connection: Any, hold_id: int, until: Any) -> None:
    await holds.remove(connection, hold_id)


kept = checkpoints._keep


async def keep_over_any_edit(connection: Any, run: Any, chapter: Any) -> bool:
    version = await connection.fetchval("SELECT content_version FROM chapter WHERE id = $1", chapter.chapter_id)
    return await kept(connection, run, replace(chapter, seen=version))


PLANTED = [
    PlantedBug(
        "a chapter is let in under any epoch and call",
        instead(checkpoints, "_accepts", lambda run, _: run.status.active),
    ),
    PlantedBug(
        "a chapter is let in by any state",
        instead(
            checkpoints,
            "_accepts",
            lambda run, chapter: (run.epoch, run.call_no) == (chapter.epoch, chapter.call_no),
        ),
    ),
    PlantedBug("a chapter replaces an author's words", instead(checkpoints, "_keep", keep_over_any_edit)),
    PlantedBug(
        "a chapter's reply is not entered", instead(checkpoints, "model_calls", SimpleNamespace(charge=nothing))
    ),
    PlantedBug(
        "a run is begun under any epoch",
        instead(checkpoints, "_may_begin", lambda run, _: run.status is RunStatus.RUNNING),
    ),
    PlantedBug("a claim keeps the epoch", sql(ownership, "CLAIM", "SET epoch = r.epoch + 1", "SET epoch = r.epoch")),
    PlantedBug(
        "a claim takes from the living", sql(ownership, "CLAIM", "p.lease_until <= now()", "p.lease_until > now()")
    ),
    PlantedBug("a claim takes everything", instead(ownership, "balance", room_for_all)),
    PlantedBug("nothing is claimed", instead(ownership, "claim", lambda *_: _none())),
    PlantedBug("the calls of the dead are believed in", instead(ownership, "clear_dead_calls", nothing)),
    PlantedBug(
        "a run is promoted beside another",
        sql(runs, "PROMOTE", "AND NOT EXISTS", "AND $3::float8 > 0 OR false AND NOT EXISTS"),
    ),
    PlantedBug(
        "a free slot is given to nobody",
        lambda: [*without(run_transitions.Effect.PROMOTE)(), mock.patch.object(recovery.Recovery, "_promote", nothing)],
    ),
    PlantedBug("what nobody writes is not begun", sql(ownership, "OWNED", "status = 'running' OR", "false OR")),
    PlantedBug("what nobody finishes is not settled", sql(ownership, "OWNED", "OR status", "OR false AND status")),
    PlantedBug("no chapter in flight is looked after", instead(recovery.Recovery, "check_runs_in_flight", never)),
    PlantedBug("the last chapter ends no run", instead(book.BookActor, "_nothing_to_begin", nothing)),
    PlantedBug("a hold is not released", without(run_transitions.Effect.RELEASE)),
    PlantedBug("a hold is not taken", without(run_transitions.Effect.HOLD)),
    PlantedBug("a run is not paid for", without(run_transitions.Effect.CONSUME)),
    PlantedBug("a hold outlives what it paid for", instead(holds, "remove", nothing)),
    PlantedBug("a consumption is counted each time", instead(holds, "consume", always)),
    PlantedBug("chapters are being written for ever", without(run_transitions.Effect.END_WRITING)),
    PlantedBug("stored replies are kept for ever", without(run_transitions.Effect.CLOSE_STEPS)),
    PlantedBug("a run's words are counted again", sql(runs, "COUNT_WORDS", "- before.words_counted", "")),
    PlantedBug("the book's status is not set", instead(books, "set_status", nothing)),
    PlantedBug("chapters are not settled", instead(chapters, "end_writing", nothing)),
    PlantedBug(
        "a run is taken over under its epoch",
        instead(
            transaction, "taken_by", lambda run, owner: run_transitions.replace(run, owner=owner, call_started_at=None)
        ),
    ),
    PlantedBug("a repeated command is decided again", instead(book.BookActor, "_steer", steer_anew_each_time)),
    PlantedBug("an answer goes before the commit", instead(book.BookActor, "_steer", answer_before_the_commit)),
    PlantedBug("a failing command crashes the actor", instead(actor.Actor, "_handle", crash_for_a_command)),
    PlantedBug("a server that takes no writes is a bug", taken_for_a_bug(READ_ONLY)),
    PlantedBug("a statement's time that is over is a bug", taken_for_a_bug(STALLED)),
    PlantedBug("a full disk is a bug", taken_for_a_bug(FULL)),
    PlantedBug("a deadlock is a bug", taken_for_a_bug("40P01")),
    PlantedBug("a stale plan is a bug", instead(outages, "is_transient", stale_plans_are_bugs)),
    PlantedBug("an outage is not waited out", instead(Health, "through_outages", give_up_at_once)),
    PlantedBug(
        "an outage makes an actor forget", instead(book.BookActor, "_despite_outages", forget_what_an_outage_interrupts)
    ),
    PlantedBug("a reply is not stored before the next call", instead(steps.StoredSteps, "settle", nothing)),
    PlantedBug("a stored reply is not looked for", lambda: [mock.patch.object(steps.StoredSteps, "_stored", nothing)]),
    PlantedBug(
        "what was fenced off is not entered",
        instead(runs_in_flight.RunsInFlight, "commit", drop_what_was_fenced_off),
    ),
    PlantedBug(
        "what was lost is not entered",
        instead(runs_in_flight.RunsInFlight, "cancel_without_storing", cancel_without_a_trace),
    ),
    PlantedBug(
        "a call is entered at each try",
        lambda: [
            mock.patch.object(module, "values_of", another_number_each_time) for module in (stored_steps, model_calls)
        ],
    ),
    PlantedBug(
        "a rewritten chapter replaces an author's words",
        sql(material, "REWRITE", "c.content_version = $5 AS same", "(c.content_version = $5 OR true) AS same"),
    ),
    PlantedBug("a job that failed keeps the book", instead(jobs.Jobs, "_end", nothing)),
    PlantedBug("a job is saved whoever has the book", instead(stored_jobs, "end", always)),
    PlantedBug("a lost lease is gone on with", instead(lease.Lease, "_lost", lose_and_claim_on)),
    PlantedBug("a lease is never fenced", instead(lease.Lease, "_ran_out", idle)),
    PlantedBug("a renewal that failed is left at that", instead(supervisor, "RENEW_AGAIN_SECONDS", None)),
    PlantedBug(
        "a sweep that did not ask says all is well", instead(supervisor.Supervisor, "sweep", sweep_that_says_nothing)
    ),
    PlantedBug(
        "a run is charged with a deploy",
        sql(ownership, "CLAIM", "AND p.draining", "AND false"),
    ),
    PlantedBug("deaths still count after progress", sql(checkpoints, "ADVANCE", "crash_count = 0,", "")),
    PlantedBug(
        "a run starts beside one that finishes its call", sql(runs, "PROMOTE", "r.call_started_at IS NOT NULL", "false")
    ),
    PlantedBug(
        "the newest of the queue starts first",
        sql(runs, "PROMOTE", "ORDER BY queue_seq LIMIT", "ORDER BY queue_seq DESC LIMIT"),
    ),
    PlantedBug("a paused run keeps its place in the queue", without(run_transitions.Effect.TO_TAIL)),
    PlantedBug("a completed book is not written again", without(run_transitions.Effect.REWRITE)),
    PlantedBug("a text that is overwritten is not kept", instead(revisions, "add", nothing)),
    PlantedBug(
        "an edit does not move the version",
        sql(chapters, "SAVE", "c.content_version + f.rewritten::int", "c.content_version"),
    ),
    PlantedBug(
        "a chapter is begun in any state", instead(checkpoints, "_may_begin", lambda run, epoch: run.epoch == epoch)
    ),
    PlantedBug("what a stopped run has paid for is given back", instead(holds, "keep", remove_instead_of_keeping)),
    PlantedBug(
        "a paused run makes further calls",  # either of its two guards is enough
        lambda: [
            mock.patch.object(book.BookActor, "halt", idle),
            *sql(stored_steps, "SAVE", "WHERE status = 'running'", "")(),
        ],
    ),
    PlantedBug("a stopped run's call goes on", instead(book.BookActor, "cancel", idle)),
]


async def _none() -> list[Any]:
    return []


def planted(name: str) -> contextlib.ExitStack:
    """Plants the bug with this name until the stack is closed."""
    stack = contextlib.ExitStack()
    for patch in next(bug for bug in PLANTED if bug.name == name).patches():
        stack.enter_context(patch)
    return stack
