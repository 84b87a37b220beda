"""The table `run` is written in three files only, in ways that agree with `decide`."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from bookgen.actors.messages import (
    Abandon,
    Advance,
    Command,
    Event,
    Generate,
    GiveUp,
    Pause,
    Resume,
    RunFailure,
    Stop,
    WorkFailed,
    WorkHalted,
)
from bookgen.actors.run_transitions import MAX_CRASHES, Effect, decide
from bookgen.errors import BookgenError
from bookgen.models import BookKind, Run, RunMode, RunStatus, Usage
from bookgen.store import checkpoints, ownership, runs
from bookgen.store.book_state import BookState
from bookgen.store.checkpoints import FinishedChapter
from bookgen.store.model_calls import LedgerEntry, PaidCall, Step
from bookgen.store.runs import TRANSITIONS
from bookgen.store.steps import insert as insert_step
from bookgen.store.steps import save as save_step

PACKAGE = Path(runs.__file__).parents[1]
WRITES = re.compile(r"UPDATE|INSERT|DELETE|MERGE|TRUNCATE|COPY", re.I)
WRITES_RUN = re.compile(r"(UPDATE|INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE|COPY)\s+(ONLY\s+)?run\b", re.I)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER, OTHER, RUN = uuid4(), uuid4(), uuid4()
FAILURES = [RunFailure("x", "It failed.", "chapter", 1, retryable) for retryable in (True, False)]
MESSAGES: list[Command | Event] = [
    Generate(),
    Pause(),
    Resume(),
    Stop(),
    Abandon(),
    Advance(),
    WorkHalted(RUN, 1, 1),
    *(WorkFailed(RUN, 1, 1, failure) for failure in FAILURES),
    GiveUp(OWNER),
]


def strings(file: Path) -> Iterator[str]:
    """The strings of the file, or none if it contains no verb that writes (which saves parsing it)."""
    source = file.read_text()
    for node in ast.walk(ast.parse(source)) if WRITES.search(source) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_statement_that_writes_a_run_is_in_one_of_three_files() -> None:
    writers = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if any(WRITES_RUN.search(text) for text in strings(file))
    }

    assert writers == {"store/runs.py", "store/checkpoints.py", "store/ownership.py"}


def a_run(status: RunStatus, crash_count: int = 0) -> Run:
    return Run(
        RUN, 1, 1, status, RunMode.FULL, 2, 0, 1, 1, OWNER, crash_count, 1, 1, 0, None, None, NOW, NOW, None,
        call_started_at=NOW if status.active else None,
    )  # fmt: skip


def a_state(run: Run, todo: int, *, slot_free: bool) -> BookState:
    return BookState(
        target_word_count=100, kind=BookKind.PROSE, run=run, chapters=2, written=2 - todo, todo=todo, wrote=False,
        slot_free=slot_free, owner_alive=True, job=None, job_row=False,
    )  # fmt: skip


def decided() -> dict[tuple[RunStatus, RunStatus], set[str]]:
    """The transitions that `decide` makes in any situation, with the messages that cause them."""
    found: dict[tuple[RunStatus, RunStatus], set[str]] = {}
    cases = product(RunStatus, MESSAGES, (0, 2), (True, False), (0, MAX_CRASHES))
    for status, message, todo, slot_free, crashes in cases:
        state = a_state(a_run(status, crashes), todo, slot_free=slot_free)
        try:
            decision = decide(state, message, a_run(RunStatus.QUEUED))
        except BookgenError:
            continue
        if decision.run and Effect.INSERT not in decision.effects and decision.run.status is not status:
            found.setdefault((status, decision.run.status), set()).add(type(message).__name__)
    return found


def test_the_transitions_in_decide_and_in_save_are_the_same() -> None:
    allowed = {(before, after) for before, targets in TRANSITIONS.items() for after in targets}

    assert decided().keys() == allowed


def test_a_new_run_is_inserted_only_if_none_is_active() -> None:
    for status in RunStatus:
        state = a_state(a_run(status), 2, slot_free=True)
        try:
            inserted = Effect.INSERT in decide(state, Generate(), a_run(RunStatus.QUEUED)).effects
        except BookgenError:
            inserted = False
        assert inserted is not status.active


A_RUN = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id), about AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 2, 100, '6x9', 'en' FROM writer RETURNING id, account_id
    ), outline AS (
        INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
        SELECT id, n, 'A chapter', 50 FROM about, generate_series(1, 2) AS n)
    INSERT INTO run (id, book_id, account_id, status, mode, total, owner, epoch, call_no, crash_count, call_started_at,
                     words_written, draft_words)
    SELECT $1, id, account_id, $2, 'full', 2, $3, 1, 1, 1, now(), 5, 3 FROM about
"""


@pytest.fixture
async def stored(pool: asyncpg.Pool, status: RunStatus) -> Run:
    """A run in `status` that is being written by a process whose lease has expired."""
    await pool.execute(A_RUN, uuid4(), status, OWNER)
    run = await runs.newest(pool, await pool.fetchval("SELECT id FROM book"))
    assert run
    return run


@pytest.mark.parametrize("status", RunStatus)
async def test_save_allows_exactly_the_specified_transitions(
    pool: asyncpg.Pool, stored: Run, status: RunStatus
) -> None:
    for after in RunStatus:
        async with pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            if after is status or after in TRANSITIONS[status]:
                assert (await runs.save(connection, replace(stored, status=after))).status is after
            else:
                with pytest.raises(RuntimeError):
                    await runs.save(connection, replace(stored, status=after))
            await transaction.rollback()


async def begin(pool: asyncpg.Pool, run: Run) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await checkpoints.begin(connection, run.id, run.epoch)


async def begin_phase(pool: asyncpg.Pool, run: Run) -> None:
    await checkpoints.begin_phase(pool, run)


async def commit(pool: asyncpg.Pool, run: Run) -> None:
    chapter = await pool.fetchval("SELECT min(id) FROM chapter")
    finished = FinishedChapter(run.id, run.epoch, run.call_no, chapter, 0, "Text.", 1, [], None)
    async with pool.acquire() as connection, connection.transaction():
        await checkpoints.commit(connection, finished)


async def claim(pool: asyncpg.Pool, _run: Run) -> None:
    await ownership.claim(pool, OTHER, 10)


async def clear_dead_calls(pool: asyncpg.Pool, _run: Run) -> None:
    await ownership.clear_dead_calls(pool, OTHER)


async def disown_unwritable(pool: asyncpg.Pool, _run: Run) -> None:
    await ownership.disown_unwritable(pool)


async def release(pool: asyncpg.Pool, _run: Run) -> None:
    await ownership.release(pool, OWNER)


async def hand_over(pool: asyncpg.Pool, run: Run) -> None:
    await ownership.hand_over(pool, run)


async def progress(pool: asyncpg.Pool, run: Run) -> None:
    await save_step(pool, Step("key", {"text": ""}, LedgerEntry(run.account_id, run.book_id, run.id, "chapter", 1, ())))


async def lost_reply(pool: asyncpg.Pool, run: Run) -> None:
    paid = LedgerEntry(run.account_id, run.book_id, run.id, "chapter", 1, (PaidCall("m", Usage(1, 1), 1),))
    step = Step("key", {"text": ""}, paid, words=7)
    async with pool.acquire() as connection:
        await insert_step(connection, step)  # so that it is no progress
    await save_step(pool, step)


async def recount(pool: asyncpg.Pool, run: Run) -> None:
    async with pool.acquire() as connection:
        await runs.recount(connection, run.book_id, 7)


async def forget_draft(pool: asyncpg.Pool, run: Run) -> None:
    async with pool.acquire() as connection:
        await runs.forget_draft(connection, run.id)


async def count_cut_off(pool: asyncpg.Pool, run: Run) -> None:
    await runs.count_cut_off(pool, run.id, 7, OTHER)


async def count_failed(pool: asyncpg.Pool, run: Run) -> None:
    async with pool.acquire() as connection:
        await runs.count_failed(connection, run.id, 7)


async def count_words(pool: asyncpg.Pool, run: Run) -> None:
    async with pool.acquire() as connection:
        await runs.count_words(connection, run.id)


async def promote(pool: asyncpg.Pool, run: Run) -> None:
    async with pool.acquire() as connection:
        await connection.execute("UPDATE run SET call_started_at = NULL")
        await runs.promote(connection, run.account_id, OTHER, 180.0)


QUEUED, RUNNING, PAUSED = RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED
# The same as the table in the docstring of `store/runs.py`.
WRITTEN_IN: dict[Callable[[asyncpg.Pool, Run], Awaitable[None]], set[RunStatus]] = {
    begin: {RUNNING},
    begin_phase: {RUNNING},
    commit: {QUEUED, RUNNING, PAUSED},
    claim: {RUNNING},
    clear_dead_calls: {QUEUED, PAUSED},
    disown_unwritable: {RUNNING},
    hand_over: {RUNNING},
    release: {QUEUED, RUNNING, PAUSED},
    progress: set(RunStatus) - {RunStatus.STOPPED, RunStatus.COMPLETED},
    recount: {PAUSED},
    forget_draft: set(RunStatus),
    count_cut_off: {RunStatus.STOPPED},
    lost_reply: {RunStatus.STOPPED},
    count_failed: set(RunStatus),
    count_words: set(RunStatus),
    promote: {QUEUED},
}
STORED = """
    SELECT status, total, done, written, call_no, epoch, owner, crash_count, current_chapter,
           words_counted, draft_words, words_lost
      FROM run
"""


@pytest.mark.parametrize("write", WRITTEN_IN, ids=lambda write: write.__name__)
@pytest.mark.parametrize("status", RunStatus)
async def test_each_statement_writes_runs_in_its_own_states_only(
    pool: asyncpg.Pool, stored: Run, status: RunStatus, write: Callable[[asyncpg.Pool, Run], Awaitable[None]]
) -> None:
    before = await pool.fetchrow(STORED)

    await write(pool, stored)

    after = await pool.fetchrow(STORED)
    assert (after != before) is (status in WRITTEN_IN[write])
    assert after["status"] == (RUNNING if write is promote and status is QUEUED else status)


def test_the_table_in_the_module_docstring_matches_these_tests() -> None:
    rows = {
        name.lower(): set(RunStatus) if states.startswith("any") else {RunStatus(word) for word in states.split(", ")}
        for name, states in re.findall(r"^ {4}(\w+) {2,}(\w+(?:, \w+)*) {2,}\w", (runs.__doc__ or ""), re.M)
        if name not in ("from", "statement", *RunStatus)
    }

    assert rows == {write.__name__: states for write, states in WRITTEN_IN.items() if write is not promote}
