"""One free account over HTTP, and what it does: a history of random deeds.

A history is about one to three things that the plan bounds, so that most histories reach a bound. Half of them repeat a
few deeds in the same order, so that loops such as "start, stop, start, stop" are among them. Deeds overlap: a call may
be half streamed, or not answered at all, when the next deed comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

from aiohttp import ClientOSError, ServerDisconnectedError

from tests.http.conftest import Api, Reply
from tests.http.free_models import CHAPTER_TITLE, TITLE, Notes
from tests.http.free_oracle import CHAPTERS, UNANSWERED, WORDS

DEEDS_OF_A_HISTORY = 45
MOMENT = 3.0  # seconds that a deed has to reach the provider or to end, at most; others act meanwhile
PATIENCE = 300.0
UNHEARD = (ServerDisconnectedError, ClientOSError)  # a request that may have been carried out
FAULTS = ("hold", "hold", "stall", "stall", "refusal", "empty", "truncate", "text")
TEXT = "The rain had stopped by noon, and nobody in the harbour knew what to say about it. "

# A blurb waits until its book is complete again if a chapter was emptied before the draft began.
UNFINISHED = """
    SELECT 'run ' || to_jsonb(r)::text FROM run r
     WHERE account_id = $1 AND (status IN ('queued', 'running') OR call_started_at IS NOT NULL)
    UNION ALL
    SELECT 'report ' || to_jsonb(r)::text FROM report r WHERE account_id = $1 AND status IN ('pending', 'running')
    UNION ALL
    SELECT 'blurb ' || to_jsonb(d)::text FROM blurb_draft d JOIN book b ON b.id = d.book_id
     WHERE b.account_id = $1 AND (d.owner IS NOT NULL OR d.due_at <= now() AND b.status = 'completed')
    UNION ALL
    SELECT 'job ' || to_jsonb(j)::text FROM book_job j JOIN book b ON b.id = j.book_id WHERE b.account_id = $1
"""


class FreeAccount:
    """`answers`: the statuses that jobs were answered with, by their marks. `started`: the numbers of the books that a
    run was ever accepted for. `cuts`: how often the account did what cuts off calls.
    """

    def __init__(self, api: Api, notes: Notes, reader: int) -> None:
        self.answers: dict[str, int] = {}
        self.started: set[int] = set()
        self.cuts = 0
        self._api, self._notes, self._reader, self._random = api, notes, reader, Random(reader)
        self._books: dict[int, int] = {}  # their numbers by their ids
        self._chapters: dict[int, Sequence[int]] = {}
        self._texts: set[int] = set()  # chapters that the account has written
        self._reports: list[int] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers, self._of_books = itertools.count(1), itertools.count(1)
        self._accepted = 0  # deeds that work goes on after

    async def live(self) -> Counter[str]:
        """Do random deeds. Returns how many of each."""
        chosen = self._choice()
        loop = self._random.random() < 0.5
        done: Counter[str] = Counter()
        await self._answered(self.draft())
        if self._random.random() < 0.5:
            await self._answered(self.edit())
        for number in range(DEEDS_OF_A_HISTORY):
            deed = chosen[number % len(chosen)] if loop else self._random.choice(chosen)
            await self._do(deed)
            done[deed.__name__] += 1
        await self._come_to_rest()
        return done

    def _choice(self) -> list[Deed]:
        chosen: list[Deed] = []
        for main, others in self._random.sample(THEMES, self._random.choice((1, 1, 2, 3))):
            chosen += self._random.choices(main, k=2)
            chosen += self._random.sample(others, self._random.randint(1, 3))
        if self._random.random() < 0.3:
            chosen.append(self._random.choice([each for main, others in THEMES for each in (*main, *others)]))
        self._random.shuffle(chosen)
        return chosen

    async def _do(self, deed: Deed) -> None:
        if not self._books:
            await self._answered(self.draft())
        if self._random.random() < 0.4:
            self._notes.script(self._random.choice(FAULTS))
        calls, accepted = len(self._notes.calls), self._accepted
        task = asyncio.create_task(self._answered(deed(self)))
        self._tasks.add(task)
        heard = asyncio.create_task(self._notes.arrived(calls + 1))
        await asyncio.wait({task, heard}, timeout=MOMENT, return_when=asyncio.FIRST_COMPLETED)
        if self._accepted > accepted and self._random.random() < 0.6:
            await asyncio.wait({heard}, timeout=MOMENT)  # the answer of a start comes before its call
        heard.cancel()
        if self._random.random() < 0.3:
            self._notes.gate.open()

    async def _answered(self, deed: Awaitable[None]) -> None:
        """Do a deed, answered or not: a server may close a connection just as a request comes."""
        with contextlib.suppress(*UNHEARD):
            await deed

    async def _come_to_rest(self) -> None:
        """Let all work end, and stop what is paused, since words count when a run ends."""
        self._notes.forget_script()
        async with asyncio.timeout(PATIENCE):
            await self._until_rest()
            for book in [*self._books]:
                await self._answered(self._end(book))
            await self._until_rest()

    async def _end(self, book: int) -> None:
        await self._post(f"/books/{book}/stop-generation/")

    async def _until_rest(self) -> None:
        while True:
            self._notes.gate.open()
            self._tasks = {task for task in self._tasks if not task.done() or task.result()}
            if not self._tasks and self._notes.in_flight == 0 and not await self.unfinished():
                return
            await asyncio.sleep(0.05)

    async def unfinished_in_words(self) -> str:
        """What has not ended, a line each, for a reader: requests, calls and rows."""
        waiting = f"{len(self._tasks)} requests without an answer, {self._notes.in_flight} calls in flight"
        return "\n    ".join([waiting, *await self.unfinished()])

    async def unfinished(self) -> list[str]:
        """The rows of the account's work that has not ended."""
        rows = await self._api.services.database.http.fetch(UNFINISHED, self._api.account_id)
        return [row[0] for row in rows]

    async def _post(self, path: str, body: Any = None) -> Reply:
        reply = await self._api.post(path, body)
        assert reply.status < 500 or reply.status in (502, 503), (path, reply.status, reply.body)
        self._accepted += reply.status == 202
        return reply

    async def _job(self, path: str, body: dict[str, Any], mark: str) -> Reply:
        if "/0/" not in path:
            self.answers[mark] = UNANSWERED
        reply = await self._post(path, body)
        if "/0/" not in path:
            self.answers[mark] = reply.status
        return reply

    def _mark(self, kind: str) -> str:
        """A word that tells the provider's calls of one job from those of others."""
        return f"{kind}-{next(self._numbers)}-{kind}"

    @property
    def _book(self) -> int:
        """Mostly a book that a run was accepted for, since a free account has no second one to run."""
        begun = [book for book, number in self._books.items() if number in self.started]
        chosen = begun if begun and self._random.random() < 0.7 else [*self._books]
        return self._random.choice(chosen) if chosen else 0

    @property
    def _chapter(self) -> int:
        chapters = self._chapters.get(self._book, ())
        return self._random.choice(chapters) if chapters else 0

    def _keep(self, book: int, number: int, chapters: Sequence[dict[str, Any]]) -> None:
        self._books[book] = number
        self._chapters[book] = [each["id"] for each in chapters]

    # Deeds

    async def draft(self) -> None:
        number = next(self._of_books)
        title = TITLE.format(reader=self._reader, book=number)
        made = await self._post("/books/", {"title": title, "chapter_count": CHAPTERS, "target_word_count": WORDS})
        if made.status != 201:
            return
        book = made.body["id"]
        titles = [CHAPTER_TITLE.format(number=each, reader=self._reader) for each in range(1, CHAPTERS + 1)]
        told = {"summary": "It goes on.", "target_word_count": WORDS // CHAPTERS}
        outlined = await self._post(
            f"/books/{book}/update-outline/", {"chapters": [{"title": title, **told} for title in titles]}
        )
        if outlined.status == 200:
            self._keep(book, number, outlined.body["chapters"])

    async def outline(self) -> None:
        book, mark = self._book, self._mark("OUTLINE")
        await self._api.patch(f"/books/{book}/", {"style_notes": mark})
        outlined = await self._job(f"/books/{book}/generate-outline/", {}, mark)
        if outlined.status == 200 and book in self._books:
            self._chapters[book] = [each["id"] for each in outlined.body["chapters"]]

    async def rework(self) -> None:
        book, mark = self._book, self._mark("REWORK")
        body = {"chapter_ids": self._chapters.get(book, [])[:1], "instructions": mark}
        await self._job(f"/books/{book}/regenerate-chapters/", body, mark)

    async def _run(self, book: int, command: str, body: Any = None) -> None:
        number, accepted = self._books.get(book, 0), True
        with contextlib.suppress(*UNHEARD):
            accepted = (await self._post(f"/books/{book}/{command}/", body)).status in (200, 202)
        if accepted:
            self.started.add(number)

    async def start(self) -> None:
        await self._run(self._book, "generate")

    async def stop(self) -> None:
        await self._stop(self._book)

    async def _stop(self, book: int) -> None:
        self.cuts += 1
        await self._post(f"/books/{book}/stop-generation/")

    async def start_and_stop(self) -> None:
        """Stop a run at its first or a later call, which in most cases is cut off."""
        book, whole = self._book, self._random.randint(0, 2)
        self._notes.script(*[""] * whole, self._random.choice(("", "hold", "hold", "stall", "stall")))
        before = len(self._notes.calls)
        await self._run(book, "generate")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._notes.arrived(before + whole + 1), MOMENT)
        await self._stop(book)

    async def begin_again(self) -> None:
        """Stop a run and take from the book what it has written, so that it never ends."""
        await self.start_and_stop()
        await self.empty_all()

    async def pause(self) -> None:
        await self._post(f"/books/{self._book}/pause-generation/")

    async def resume(self) -> None:
        await self._run(self._book, "resume-generation")

    async def produce(self) -> None:
        await self._run(self._book, "produce", {"again": True})

    async def regenerate(self) -> None:
        mark, chapter = self._mark("EDIT"), await self._text()
        await self._job(f"/chapters/{chapter}/regenerate/", {"instructions": mark}, mark)

    async def regenerate_all(self) -> None:
        await asyncio.gather(*(self.regenerate() for _ in range(6)))

    async def passage(self) -> None:
        mark, chapter = self._mark("EDIT"), await self._text()
        body = {"instructions": mark, "passage": {"start": 0, "end": len(TEXT) - 1}}
        await self._job(f"/chapters/{chapter}/regenerate/", body, mark)

    async def _text(self) -> int:
        """A chapter that in most cases has a text."""
        chapter = self._chapter
        if chapter not in self._texts and self._random.random() < 0.7:
            await self._write(chapter)
        return chapter

    async def _write(self, chapter: int) -> None:
        text = TEXT * self._random.randint(1, 30) + str(next(self._numbers))
        await self._api.patch(f"/chapters/{chapter}/", {"content": text})
        self._texts.add(chapter)

    async def edit(self) -> None:
        await self._write(self._chapter)

    async def empty(self) -> None:
        await self._empty(self._chapter)

    async def empty_all(self) -> None:
        for chapter in self._chapters.get(self._book, ()):
            await self._empty(chapter)

    async def _empty(self, chapter: int) -> None:
        self._texts.discard(chapter)
        await self._api.patch(f"/chapters/{chapter}/", {"content": ""})

    async def plan(self) -> None:
        """Change what an unfinished chapter is about, so that none of its stored parts can be used."""
        summary = f"Something else, number {next(self._numbers)}."
        await self._api.patch(f"/chapters/{self._chapter}/", {"summary": summary})

    async def lengthen(self) -> None:
        await self._api.patch(f"/chapters/{self._chapter}/", {"target_word_count": self._random.randint(50, WORDS)})

    async def duplicate(self) -> None:
        copied = await self._post(f"/books/{self._book}/duplicate/")
        if copied.status == 201:
            book, number = copied.body["id"], next(self._of_books)
            await self._api.patch(f"/books/{book}/", {"title": TITLE.format(reader=self._reader, book=number)})
            self._keep(book, number, copied.body["chapters"])

    async def delete(self) -> None:
        if self._books:
            book = self._book
            self._books.pop(book)
            self.cuts += 1
            await self._api.delete(f"/books/{book}/")

    async def review(self) -> None:
        await self._text()
        self._ask_report(await self._post(f"/books/{self._book}/review/"))

    async def proofread(self) -> None:
        await self._text()
        self._ask_report(await self._post("/proofreading-reports/", {"book": self._book}))

    def _ask_report(self, reply: Reply) -> None:
        if reply.status == 202:
            self._reports.append(reply.body["id"])

    async def delete_report(self) -> None:
        if self._reports:
            await self._api.delete(f"/proofreading-reports/{self._reports.pop()}/")

    async def cover(self) -> None:
        await self._post(f"/books/{self._book}/generate-cover/", {"count": self._random.randint(1, 2)})


Deed = Callable[[FreeAccount], Awaitable[None]]
A = FreeAccount
# Deeds that use an allowance, and others that a history of them may have.
THEMES: Sequence[tuple[Sequence[Any], Sequence[Any]]] = (
    ((A.start_and_stop, A.begin_again), (A.stop, A.pause, A.resume, A.empty, A.empty_all, A.plan, A.edit, A.delete)),
    ((A.start, A.begin_again), (A.empty_all, A.stop, A.duplicate, A.produce, A.lengthen, A.plan, A.draft)),
    ((A.regenerate, A.passage, A.regenerate_all), (A.edit, A.start, A.empty, A.delete, A.duplicate, A.lengthen)),
    ((A.regenerate, A.passage), (A.edit, A.empty, A.lengthen, A.draft)),
    ((A.outline, A.rework), (A.draft, A.delete, A.duplicate, A.plan, A.regenerate)),
    ((A.review, A.proofread), (A.edit, A.delete_report, A.delete_report, A.delete, A.draft, A.begin_again)),
    ((A.cover,), (A.draft, A.delete, A.duplicate, A.start)),
)
