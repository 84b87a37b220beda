"""Random sequences of commands, calls, edits and crashes keep all invariants, in memory and in the database."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from bookgen.actors.messages import Abandon, Generate, Pause, Resume, Stop
from bookgen.models import Run, RunStatus
from bookgen.store.database import Pool, open_pool

from .conftest import Shelf
from .life import BOOKS_A_PERIOD, CHAPTERS, Life, LifeInMemory, RealLife

BOOKS = 3
OWN_BY_MONTH = """
    INSERT INTO account_addon (account_id, addon_id, billing_type)
    SELECT $1, id, 'monthly' FROM addon WHERE slug = 'automated-production'
"""
# `make chaos` tries more.
THOROUGH = os.environ.get("CHAOS") == "all"
books = st.integers(0, BOOKS - 1)
picks = st.integers(0, 20)
commands = st.sampled_from([Pause(), Pause(), Resume(), Resume(), Stop(), Abandon()])
endings = st.sampled_from(["written", "written", "written", "failed", "refused", "halted"])


def picked(books: Iterable[int], pick: int) -> int:
    ordered = sorted(books)
    return ordered[pick % len(ordered)]


async def real_life(pool: Pool) -> RealLife:
    shelf = Shelf(pool)
    account = await shelf.account("starter")
    await pool.execute(OWN_BY_MONTH, account)
    life = RealLife(shelf, account, {n: await shelf.book(account, chapters=2) for n in range(BOOKS)})
    await life.register()
    return life


class LifeMachine(RuleBasedStateMachine):
    """Drives the implementation in memory, and any others next to it."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = LifeInMemory(BOOKS)
        self.lives: list[Life] = [self.memory]
        self.loop = asyncio.new_event_loop()
        self.seen: dict[int, int] = {}

    def teardown(self) -> None:
        self.loop.close()

    def both(self, what: str, *arguments: Any) -> None:
        answers = [self.loop.run_until_complete(getattr(life, what)(*arguments)) for life in self.lives]
        assert len(set(answers)) == 1, (what, arguments, answers)

    @property
    def runs(self) -> dict[int, Run]:
        return {book: shelved.run for book, shelved in self.memory.books.items() if shelved.run}

    @property
    def standing(self) -> list[int]:
        """The books with a running run and no work in flight."""
        running = [book for book, run in self.runs.items() if run.status is RunStatus.RUNNING]
        return [book for book in running if book not in self.memory.flights]

    @rule(book=books, automated=st.booleans(), again=st.booleans())
    def generate(self, book: int, automated: bool, again: bool) -> None:
        self.both("command", book, Generate(automated=automated, again=again))

    @precondition(lambda self: self.runs)
    @rule(pick=picks, command=commands)
    def steer(self, pick: int, command: Any) -> None:
        self.both("command", picked(self.runs, pick), command)

    @precondition(lambda self: self.standing)
    @rule(pick=picks)
    def begin(self, pick: int) -> None:
        self.both("begin", picked(self.standing, pick))

    @precondition(lambda self: self.memory.flights)
    @rule(pick=picks, how=endings)
    def end(self, pick: int, how: str) -> None:
        self.both("end", picked(self.memory.flights, pick), how)

    @precondition(lambda self: self.memory.flights)
    @rule(pick=picks, first=commands, second=commands, how=endings)
    def steer_while_a_call_is_in_flight(self, pick: int, first: Any, second: Any, how: str) -> None:
        book = picked(self.memory.flights, pick)
        for command in (first, second):
            self.both("command", book, command)
        self.both("end", book, how)

    @precondition(lambda self: self.standing or self.memory.flights)
    @rule()
    def write_a_chapter(self) -> None:
        for book in self.standing:
            self.both("begin", book)
        for book in list(self.memory.flights):
            self.both("end", book, "written")

    @precondition(lambda self: self.memory.lost)
    @rule(number=picks)
    def a_lost_call_brings_its_text_late(self, number: int) -> None:
        self.both("late", number)

    @precondition(lambda self: self.memory.flights)
    @rule(pick=picks, chapter=st.integers(0, CHAPTERS - 1))
    def edit(self, pick: int, chapter: int) -> None:
        self.both("edit", picked(self.memory.flights, pick), chapter)

    @precondition(lambda self: self.memory.flights)
    @rule()
    def crash(self) -> None:
        self.both("crash")

    @invariant()
    def both_lives_look_the_same(self) -> None:
        if len(self.lives) > 1:
            for book in range(BOOKS):
                self.both("view", book)
            self.both("used")

    @invariant()
    def one_run_is_running_and_nobody_waits_for_a_free_turn(self) -> None:
        runs = [shelved.run for shelved in self.memory.books.values() if shelved.run]
        running = sum(run.status is RunStatus.RUNNING for run in runs)
        drains = any(run.status.active and run.call_started_at for run in runs)
        assert running <= 1
        assert running or drains or not any(run.status is RunStatus.QUEUED for run in runs)

    @invariant()
    def every_completed_run_was_paid_for_once(self) -> None:
        assert max(Counter(self.memory.consumed).values(), default=1) == 1
        completed = {s.run.id for s in self.memory.books.values() if s.run and s.run.status is RunStatus.COMPLETED}
        assert completed <= set(self.memory.consumed)

    @invariant()
    def never_more_is_held_and_used_than_the_plan_allows(self) -> None:
        held = sum(shelved.held for shelved in self.memory.books.values())
        assert held + len(self.memory.consumed) <= BOOKS_A_PERIOD
        assert all(s.held for s in self.memory.books.values() if s.run and s.run.status.active)

    @invariant()
    def a_completed_run_has_every_chapter(self) -> None:
        for shelved in self.memory.books.values():
            if shelved.run and shelved.run.status is RunStatus.COMPLETED:
                assert shelved.run.done == shelved.run.total
                assert all(shelved.texts)

    @invariant()
    def turns_are_given_in_the_order_of_the_queue(self) -> None:
        assert self.memory.starts == sorted(self.memory.starts)


def test_no_sequence_of_events_breaks_an_invariant() -> None:
    run_state_machine_as_test(
        LifeMachine,
        settings=settings(
            max_examples=1000 if THOROUGH else 100, stateful_step_count=50, deadline=None, print_blob=True
        ),
    )


async def test_a_late_reply_to_a_stopped_run_is_not_used_by_the_next_run(pool: Pool) -> None:
    """Both runs have the same epoch, call number and chapter, so the reply would complete the next run."""
    memory, database = LifeInMemory(BOOKS), await real_life(pool)

    for life in (memory, database):
        await life.command(0, Generate())
        await life.edit(0, 1)
        await life.command(0, Stop())
        await life.command(0, Generate())
        await life.late(0)

    assert await memory.view(0) == await database.view(0)
    assert (await database.view(0)).written == (False, True)
    assert (await database.view(0)).in_flight


@pytest.mark.timeout(300)
def test_the_database_behaves_like_the_model_in_memory(dsn: str) -> None:
    class Conformance(LifeMachine):
        def __init__(self) -> None:
            super().__init__()
            self.pool = self.loop.run_until_complete(open_pool(dsn, size=2))
            self.lives.append(self.loop.run_until_complete(real_life(self.pool)))

        def teardown(self) -> None:
            self.loop.run_until_complete(self.pool.close())
            super().teardown()

    run_state_machine_as_test(
        Conformance,
        settings=settings(
            max_examples=100 if THOROUGH else 12,
            stateful_step_count=30,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
