"""Authors who keep books in flight while processes are killed, and remember every answer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from collections import Counter, defaultdict
from typing import Any

import aiohttp
import orjson

from tests.chaos.process import Process
from tests.chaos.world import INVARIANTS, Author, World

AHEAD = 3  # accepted books per author: one is written and the others wait, so that a slot is never empty
LOOK_SECONDS = 0.1

ACTIVE = "SELECT account_id, count(*) AS runs FROM run WHERE status IN ('queued', 'running', 'paused') GROUP BY 1"

# A book just paused or resumed is still in flight while its chapter is.
IN_FLIGHT = """
    SELECT book_id FROM run
     WHERE status = 'running' OR status IN ('queued', 'paused') AND call_started_at IS NOT NULL
    UNION SELECT book_id FROM blurb_draft WHERE owner IS NOT NULL
"""
BLURBS_LEFT = "SELECT count(*) FROM blurb_draft"
FEWER_BLURBS_LEFT = "SELECT count(*) < $1 FROM blurb_draft"

TEXTS = "SELECT book_id, chapter_number, md5(content) AS text FROM chapter WHERE content <> ''"

SUMMED_UP = "SELECT c.book_id, c.chapter_number FROM chapter c JOIN digest d ON d.chapter_id = c.id"


class Traffic:
    """Every author has one book in flight until `finish`, and `AHEAD - 1` more in the queue.

    `promised` is the last answer about a book: "accepted", "paused" or "resumed". A book whose command was sent and not
    answered promises nothing until the next answer.
    """

    def __init__(self, world: World, dice: random.Random, authors: list[Author], chapters: int) -> None:
        self._world = world
        self._dice = dice
        self._authors = authors
        self._chapters = chapters
        self._process: Process | None = None
        self._finishing = False
        self._owners: dict[int, Author] = {}
        self._unanswered: dict[int, Author] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._heard = 0
        self._asked: defaultdict[int, Counter[bytes]] = defaultdict(Counter)
        # The requests for each chapter's digest that were seen.
        self._sums: defaultdict[tuple[int, int], set[bytes]] = defaultdict(set)
        self._hit: set[int] = set()
        self._shown: dict[str, int] = {}
        self.promised: dict[int, str] = {}
        self.answers: Counter[str] = Counter()
        self.repeated = 0
        self.least_in_flight = len(authors)

    # What authors do

    def meet(self, process: Process | None) -> None:
        """Set the process that commands go to, or None."""
        self._process = process

    async def run(self) -> None:
        """Run until `finish` was called and no run is active."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._process is None or not self._process.url:
                continue
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                await self._round(self._process)
            if self._finishing and not await self._world.pool.fetch(ACTIVE) and not self._unanswered:
                return

    def finish(self) -> None:
        """Start no more books, and resume the paused ones."""
        self._finishing = True

    async def start(self) -> None:
        """Have every author's books accepted."""
        assert self._process
        while not await self._filled():
            await self._round(self._process)

    async def _filled(self) -> bool:
        active = {row["account_id"]: row["runs"] for row in await self._world.pool.fetch(ACTIVE)}
        return all(active.get(author.id, 0) >= AHEAD for author in self._authors)

    async def _round(self, process: Process) -> None:
        for book, author in list(self._unanswered.items()):
            await self._generate(process, author, book)
        for row in await self._world.pool.fetch("SELECT book_id FROM run WHERE status = 'paused'"):
            await self._steer(process, row["book_id"], "resume", "resumed")
        if self._finishing:
            return
        active = {row["account_id"]: row["runs"] for row in await self._world.pool.fetch(ACTIVE)}
        for author in self._authors:
            if active.get(author.id, 0) < AHEAD:
                book = await self._world.book(author, self._chapters)
                self._owners[book] = author
                await self._generate(process, author, book)
        if running := await self._world.pool.fetch("SELECT book_id FROM run WHERE status = 'running' ORDER BY 1"):
            await self._steer(process, self._dice.choice(running)["book_id"], "pause", "paused")
            await self._poll(process, self._dice.choice(running)["book_id"])

    async def _generate(self, process: Process, author: Author, book: int) -> None:
        """Retry only after reading the status, like a client whose response was lost."""
        if book in self._unanswered:
            code, body = await self._world.call(process, author, "GET", f"/books/{book}/generation-status/")
        else:
            code, body = 404, {}
        self._unanswered[book] = author
        if code == 404:
            code, body = await self._world.generate(process, author, book)
            self.answers["accepted"] += code == 202
        if code == 503:  # starting: the book stays unanswered and is requested again
            return
        assert code in (200, 202), (book, code, body)
        del self._unanswered[book]
        self.promised[book] = "accepted"

    async def _steer(self, process: Process, book: int, verb: str, state: str) -> None:
        self.promised.pop(book, None)
        code, body = await self._world.steer(process, self._owners[book], book, verb)
        match code:
            case 200:
                self.promised[book] = state
                self.answers[state] += 1
            case 409:  # it completed in the meantime
                self.promised[book] = "accepted"
            case 503:  # it may or may not have been done
                pass
            case _:
                raise AssertionError((book, verb, code, body))

    async def _poll(self, process: Process, book: int) -> None:
        """A run's finished work never shrinks, whichever process is asked."""
        status = await self._world.status(process, self._owners[book], book)
        run, done = status["task_id"], status["completed_chapters"]
        assert done >= self._shown.get(run, 0), f"book {book} went back from {self._shown[run]} to {done} chapters"
        self._shown[run] = done

    # What must hold

    async def after_kill(self) -> None:
        """The process is dead and nothing changes, so the database is complete."""
        self._process = None
        await self._world.model.until(lambda: self._world.model.in_flight == 0)
        self._count_calls()
        await self._keep_promises()
        await self._compare_texts()
        await self._world.check_rows(INVARIANTS)
        in_flight = {row["book_id"] for row in await self._world.pool.fetch(IN_FLIGHT)}
        self.least_in_flight = min(self.least_in_flight, len(in_flight))
        self._hit |= in_flight

    async def at_the_end(self) -> None:
        while left := await self._world.value(BLURBS_LEFT):
            await self._world.until(FEWER_BLURBS_LEFT, left, seconds=120)
        self._count_calls()
        await self._keep_promises()
        await self._compare_texts()
        await self._nothing_lost_or_doubled()

    async def _keep_promises(self) -> None:
        found = await self._world.pool.fetch("SELECT book_id, status, failure FROM run")
        rows = {row["book_id"]: row for row in found}
        status = {book: row["status"] for book, row in rows.items()}
        for book, what in self.promised.items():
            assert book in status, f"book {book} was accepted and is lost"
            assert status[book] != "error", f"book {book} failed: {rows[book]['failure']}"
            assert what != "paused" or status[book] in ("paused", "completed"), f"book {book}'s pause is lost"
            assert what != "resumed" or status[book] != "paused", f"book {book}'s resume is lost"

    async def _compare_texts(self) -> None:
        """Finished chapters stay byte for byte the same."""
        texts = {(row["book_id"], row["chapter_number"]): row["text"] for row in await self._world.pool.fetch(TEXTS)}
        changed = [place for place, text in self._texts.items() if texts.get(place) != text]
        assert not changed, f"finished chapters changed: {changed}"
        self._texts = texts

    def _count_calls(self) -> None:
        """A book may repeat one call after a kill that hit it in flight. No other book may repeat any."""
        for call in self._world.model.requests[self._heard :]:
            book, asked = _book(call.brief), _fingerprint(call.body)
            if asked in self._asked[book]:
                assert book in self._hit, f"book {book} repeated a call that no kill had cut off"
                self._hit.discard(book)
                self.repeated += 1
            self._asked[book][asked] += 1
            if call.stage == "digest":
                self._sums[book, call.brief["chapter_number"]].add(asked)
        self._heard = len(self._world.model.requests)

    async def _nothing_lost_or_doubled(self) -> None:
        world, books = self._world, sorted(self._owners)
        done = "SELECT book_id, count(*), min(status), max(status) FROM run GROUP BY book_id ORDER BY book_id"
        ended = [tuple(row) for row in await world.pool.fetch(done)]
        assert ended == [(book, 1, "completed", "completed") for book in books]
        assert set(self._texts) == {(book, n) for book in books for n in range(1, self._chapters + 1)}
        charged = "SELECT r.book_id FROM consumption c JOIN run r ON r.id = c.run_id ORDER BY r.book_id"
        assert [row["book_id"] for row in await world.pool.fetch(charged)] == books
        # Every reply was either stored and paid for once or requested again in the same words, except digests.
        # If a kill cuts off a digest and the book is paused before it is requested again, it is later requested
        # in other words if it is needed, which it never is for the last chapter.
        paid = "SELECT book_id, count(*) AS calls FROM model_call GROUP BY book_id"
        calls = {row["book_id"]: row["calls"] for row in await world.pool.fetch(paid)}
        summed_up = {tuple(row) for row in await world.pool.fetch(SUMMED_UP)}
        for book, asked in self._asked.items():
            kept = len(asked) - sum(
                len(words) - ((book, number) in summed_up) for (of, number), words in self._sums.items() if of == book
            )
            assert kept <= calls[book] <= len(asked), f"book {book}: {calls[book]} of {len(asked)} calls are paid"

    def figures(self) -> str:
        calls = sum(asked.total() for asked in self._asked.values())
        said = ", ".join(f"{times} {what}" for what, times in sorted(self.answers.items()))
        return (
            f"{self._world.kills} kills, {self.least_in_flight} or more books in flight at each, "
            f"{len(self._owners)} books, {len(self._texts)} chapters, {calls} model calls, {self.repeated} repeated; "
            f"answered commands: {said}; lost commands 0, duplicate chapters 0, duplicate charges 0"
        )


def _book(brief: dict[str, Any]) -> int:
    return int(str(brief["title"]).removeprefix("Book "))


def _fingerprint(body: dict[str, Any]) -> bytes:
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).digest()
