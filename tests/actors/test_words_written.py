"""The word count in a run's status: finished chapters plus the stored parts of the unfinished one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import orjson
import pytest

from bookgen.actors.messages import Generate, Pause, Resume, Stop
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.failed_jobs import FREE_A_PERIOD
from bookgen.errors import QuotaExceeded, Unavailable, UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import Spent, StopReason, TextReply, TextRequest
from bookgen.store import runs
from bookgen.store.database import DB, Database
from bookgen.writing import chapter
from bookgen.writing.chapter import write_chapter
from tests.chaos.pg_proxy import PgProxy

from .conftest import PATIENCE_SECONDS, Shelf, crash, locked, supervising, until

RESTING = "SELECT call_started_at IS NULL FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1"


class Slow(OfflineModel):
    """Answers like the offline model, except calls whose numbers are in `held`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.held: set[int] = set()
        self.failing: set[int] = set()
        self.failing_paid: set[int] = set()
        self.refuses = False
        self.waits, self.let_go = asyncio.Event(), asyncio.Event()

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage == "chapter":
            self.calls += 1
            if self.calls in self.failing:
                raise UpstreamAIError("Away.", stage="chapter", chapter_number=request.chapter_number, retryable=True)
            if self.calls in self.held:
                self.waits.set()
                await self.let_go.wait()
            if self.calls in self.failing_paid:
                spent = (Spent(self.name, Usage(calls=1, input_tokens=10)),)
                raise UpstreamAIError("Cut off.", stage="chapter", retryable=True, spent=spent)
            if self.refuses:
                return TextReply("", StopReason.REFUSAL, Usage(calls=1, input_tokens=10), self.name)
        return await super().complete(request)

    async def until_held(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.waits.wait()
        self.waits.clear()


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
async def writer(database: Database, slow: Slow) -> AsyncIterator[Supervisor]:
    async with supervising(database, slow, write_chapter) as supervisor:
        yield supervisor


@pytest.fixture
async def book(shelf: Shelf) -> tuple[int, int]:
    """An account and its book of two chapters, each written in several calls."""
    account, book = await shelf.outlined(chapters=2)
    await shelf.pool.execute("UPDATE book SET target_word_count = 32000")
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 16000")
    return account, book


@pytest.fixture
async def free_book(shelf: Shelf) -> tuple[int, int]:
    """An account on the free plan with a book of one chapter of 20,000 words."""
    account, book = await shelf.outlined(chapters=1, plan="free")
    await shelf.pool.execute("UPDATE book SET target_word_count = 20000")
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 20000")
    return account, book


async def words(supervisor: Supervisor, account: int, book: int) -> int:
    return int(orjson.loads(await supervisor.statuses.read(account, book))["words_written"])


async def test_a_pause_keeps_the_words_of_the_current_call_and_of_the_calls_before_it(
    writer: Supervisor, slow: Slow, shelf: Shelf, book: tuple[int, int]
) -> None:
    slow.held = {3}
    await writer.ask(*book, Generate())
    await slow.until_held()
    two_parts = await words(writer, *book)

    await writer.ask(*book, Pause())
    while_it_finishes = await words(writer, *book)
    slow.let_go.set()
    await shelf.until(RESTING, book[1])
    at_rest = await words(writer, *book)

    assert two_parts > 1000
    assert while_it_finishes == two_parts
    assert at_rest >= two_parts + 500  # the third part
    assert await shelf.texts(book[1]) == ["", ""]


async def test_the_word_count_never_falls_over_pauses_and_a_crash(
    database: Database, writer: Supervisor, slow: Slow, shelf: Shelf, book: tuple[int, int]
) -> None:
    slow.held, seen = {3, 4}, []
    await writer.ask(*book, Generate())
    await slow.until_held()
    await writer.ask(*book, Pause())
    slow.let_go.set()
    await shelf.until(RESTING, book[1])
    seen.append(await words(writer, *book))
    slow.let_go.clear()
    await writer.ask(*book, Resume())
    await slow.until_held()
    seen.append(await words(writer, *book))
    await crash(writer, shelf)

    slow.held = {5}  # the call of the dead process, repeated
    async with supervising(database, slow, write_chapter) as other:
        await slow.until_held()
        seen.append(await words(other, *book))
        slow.let_go.set()
        await shelf.until_status(book[1], "completed")
        seen.append(await words(other, *book))

    assert seen == sorted(seen)
    assert seen[0] > 1000
    assert seen[-1] == await shelf.value("SELECT sum(word_count) FROM chapter WHERE book_id = $1", book[1])


async def test_a_stop_removes_the_words_of_the_unfinished_chapter_from_the_status(
    writer: Supervisor, slow: Slow, shelf: Shelf, book: tuple[int, int]
) -> None:
    slow.held = {3}
    await writer.ask(*book, Generate())
    await slow.until_held()

    await writer.ask(*book, Stop())

    assert await words(writer, *book) == 0


async def test_a_chapter_that_failed_keeps_the_words_of_its_finished_parts(
    writer: Supervisor, slow: Slow, shelf: Shelf, book: tuple[int, int]
) -> None:
    slow.failing = {3}
    await writer.ask(*book, Generate())
    await shelf.until_status(book[1], "error")
    failed = await words(writer, *book)

    slow.held = {4}
    await writer.ask(*book, Resume())
    await slow.until_held()
    again = await words(writer, *book)
    slow.let_go.set()
    await shelf.until_status(book[1], "completed")

    assert failed == again > 1000


async def test_the_words_of_a_rewritten_chapter_count_once_it_is_finished(
    writer: Supervisor, slow: Slow, shelf: Shelf, book: tuple[int, int]
) -> None:
    await writer.ask(*book, Generate())
    await shelf.until_status(book[1], "completed")
    before = await words(writer, *book)
    slow.held = {slow.calls + 3}

    await writer.ask(*book, Generate())
    await slow.until_held()

    assert await words(writer, *book) == before
    slow.let_go.set()
    await shelf.until_status(book[1], "completed")
    assert await words(writer, *book) == await shelf.value("SELECT sum(word_count) FROM chapter")


USAGE = "SELECT coalesce(sum(words_generated), 0) FROM usage_period"
CALLED = "SELECT count(*) FROM model_call WHERE stage = 'chapter'"


async def test_the_parts_written_before_a_stop_are_charged_and_used_by_the_next_run(
    writer: Supervisor, slow: Slow, shelf: Shelf, book: tuple[int, int]
) -> None:
    slow.held = {3, 4}
    await writer.ask(*book, Generate())
    await slow.until_held()
    await writer.ask(*book, Stop())
    counted = await shelf.value(USAGE)

    await writer.ask(*book, Generate())
    await slow.until_held()
    going_on = await words(writer, *book)
    slow.let_go.set()
    await shelf.until_status(book[1], "completed")

    written = await shelf.value("SELECT sum(word_count) FROM chapter WHERE book_id = $1", book[1])
    assert counted == going_on > 1000
    assert await shelf.value(USAGE) == written
    assert slow.calls == await shelf.value(CALLED) + 1  # the call that the stop cancelled


async def held_before_the_end(slow: Slow, shelf: Shelf, book: int) -> bool:
    """Wait until a call is held or the run has failed. Whether a call is held."""
    waiting = [asyncio.create_task(slow.until_held()), asyncio.create_task(shelf.until_status(book, "error"))]
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
        return waiting[0] in done
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_repeated_stops_do_not_give_unlimited_free_words(
    writer: Supervisor, slow: Slow, shelf: Shelf, free_book: tuple[int, int]
) -> None:
    """The author changes the chapter after each stop, so each run starts it again, up to three times its words.

    The words run out between two runs or within one, whichever comes first.
    """
    for rounds in range(30):
        slow.held = {slow.calls + 3}
        try:
            await writer.ask(*free_book, Generate())
        except QuotaExceeded:
            break
        if not await held_before_the_end(slow, shelf, free_book[1]):
            assert await shelf.value("SELECT failure ->> 'code' FROM run WHERE status = 'error'") == "QUOTA_EXCEEDED"
            continue
        await writer.ask(*free_book, Stop())
        await shelf.until("SELECT bool_and(words_lost > 0) FROM run")
        await shelf.pool.execute("UPDATE chapter SET summary = $1", f"Another one, the {rounds}th.")

    paid = await shelf.value("SELECT sum(words_written + draft_words + words_lost) FROM run")
    assert 1 < rounds < 29
    assert 3 * 20_000 <= paid < 3 * 20_000 + 12_000  # plus what one round may add
    assert await shelf.value(USAGE) > 0


async def test_a_call_that_a_stop_cut_off_is_counted_once_if_the_answer_is_lost(
    writer: Supervisor, slow: Slow, shelf: Shelf, free_book: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    count, counted = runs.count_cut_off, list[int]()

    async def unanswered(db: DB, run_id: UUID, words: int, *call: UUID) -> None:
        await count(db, run_id, words, *call)
        counted.append(words)
        if len(counted) == 1:
            raise Unavailable

    monkeypatch.setattr(runs, "count_cut_off", unanswered)
    slow.held = {1}
    await writer.ask(*free_book, Generate())
    await slow.until_held()

    await writer.ask(*free_book, Stop())

    await until(lambda: len(counted) == 2)
    assert await shelf.value("SELECT words_lost FROM run") == counted[0] > 0


async def test_a_stop_after_the_reply_and_before_the_end_of_the_chapter_gives_no_free_words(
    writer: Supervisor, slow: Slow, shelf: Shelf, free_book: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def held(*_: object) -> None:
        slow.waits.set()
        await slow.let_go.wait()

    monkeypatch.setattr(chapter.quality, "certain", held)
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 300")
    await writer.ask(*free_book, Generate())
    await slow.until_held()

    await writer.ask(*free_book, Stop())

    await shelf.until("SELECT words_lost > 0 FROM run")
    assert await shelf.value("SELECT words_lost FROM run") == 300


async def test_a_stop_just_after_a_refusal_gives_no_free_words(
    writer: Supervisor, slow: Slow, shelf: Shelf, free_book: tuple[int, int], dsn: str
) -> None:
    """The stop waits for the account's lock while the refusal comes, so the failure is handled after it."""
    slow.refuses, slow.held = True, {1}
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 300")
    await writer.ask(*free_book, Generate())
    await slow.until_held()
    (work,) = writer.runs_in_flight.by_run.values()

    async with locked(dsn, free_book[0]):
        stop = asyncio.create_task(writer.ask(*free_book, Stop()))
        await shelf.until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')")
        slow.let_go.set()
        await asyncio.wait([work.task])
    await stop

    await shelf.until("SELECT words_lost > 0 FROM run")
    assert await shelf.value("SELECT words_lost FROM run") == 300


async def test_a_chapter_that_the_model_always_refuses_uses_up_the_words_of_its_hold(
    writer: Supervisor, slow: Slow, shelf: Shelf, free_book: tuple[int, int]
) -> None:
    """A book's text can make a model refuse. Only the first failures of a period are free."""
    slow.refuses = True
    for _ in range(80):
        try:
            await writer.ask(*free_book, Generate())
        except QuotaExceeded:
            break
        await shelf.until_status(free_book[1], "error")

    lost = await shelf.value("SELECT sum(words_lost) FROM run")
    asked = await shelf.value("SELECT max(words_lost) FROM run")
    assert FREE_A_PERIOD < await shelf.value("SELECT count(*) FROM run") < 80
    assert 3 * 20_000 <= lost < 3 * 20_000 + asked
    assert await shelf.value("SELECT failed_jobs FROM usage_period") == FREE_A_PERIOD


@pytest.mark.parametrize("pauses", [False, True])
async def test_a_failed_chapter_whose_commit_response_was_lost_is_counted_once(
    proxy: PgProxy, slow: Slow, shelf: Shelf, free_book: tuple[int, int], pauses: bool
) -> None:
    database = await Database.open(proxy.dsn, http_connections=2, run_connections=5)
    slow.failing_paid, slow.held = {1}, {1}
    async with supervising(database, slow, write_chapter) as supervisor:
        await supervisor.ask(*free_book, Generate())
        await slow.until_held()
        if pauses:
            await supervisor.ask(*free_book, Pause())
        proxy.cut_after_commit = 1
        slow.let_go.set()
        await until(lambda: not supervisor.runs_in_flight.by_run)
    await database.close(patience=1.0)

    assert proxy.cuts == 1
    assert (await shelf.run(free_book[1]))["status"] == ("paused" if pauses else "error")
    assert await shelf.value("SELECT failed_jobs FROM usage_period") == 1


async def test_a_run_whose_words_are_used_up_makes_no_further_call_for_its_chapter(
    writer: Supervisor, slow: Slow, shelf: Shelf, free_book: tuple[int, int]
) -> None:
    slow.held = {2}
    await writer.ask(*free_book, Generate())
    await slow.until_held()
    await shelf.pool.execute("UPDATE run SET words_lost = 60000")
    slow.let_go.set()

    await shelf.until_status(free_book[1], "error")

    assert (await shelf.run(free_book[1]))["failure"]["code"] == "QUOTA_EXCEEDED"
    assert slow.calls == 2
