"""Random histories of a free account over HTTP, and what the provider did for it compared with what its plan allows.

    python -m tests.http.free_histories [HISTORIES] [--seed N] [--universes N]      or: make histories

Each history has a few kinds of deeds of its own, so that loops such as "start, stop, start, stop" are among them. Deeds
overlap: a call may be half streamed, or not answered at all, when the next deed comes. The plan's allowances are small
(`SMALL`), so that a short history reaches them. `free_oracle` judges a history by the provider's own notes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import structlog

from bookgen import processes
from bookgen.billing import failed_jobs, outlines
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model, build_text_model
from tests.databases import Databases, Lent
from tests.fakes.image_server import ImageServer
from tests.fakes.model_script import fault
from tests.http.conftest import PASSWORD, Api, Reply, serving
from tests.http.free_oracle import CHAPTERS, FAILURES, FREE_BOOKS, SMALL, WORDS, Judge, NotingModels, Tally
from tests.http.spending import IMAGE_MODEL, TEXT_MODEL
from tests.programs import start_worker

DEEDS_OF_A_HISTORY = 30
MOMENT = 0.15  # seconds that a deed has to reach the provider or to end
PATIENCE = 600.0
FAULTS = (
    fault("hold"), fault("hold"), fault("stall"), fault("stall"), fault("refusal"), fault("empty"),
    fault("truncate"), fault("text", text="Just these words."),
)  # fmt: skip
TEXT = "The rain had stopped by noon, and nobody in the harbour knew what to say about it. "

SHRINK = "UPDATE plan SET features = features || $1 WHERE slug = 'free'"
VERIFY = "UPDATE account SET email_verified = true WHERE id = $1"
AT_REST = """
    SELECT NOT EXISTS (SELECT FROM run WHERE status IN ('queued', 'running') OR call_started_at IS NOT NULL)
       AND NOT EXISTS (SELECT FROM report WHERE status IN ('pending', 'running'))
       AND NOT EXISTS (SELECT FROM blurb_draft WHERE owner IS NOT NULL OR due_at <= now())
       AND NOT EXISTS (SELECT FROM book_job)
"""


class FreeAccount:
    """One account, and what it does."""

    def __init__(self, api: Api, models: NotingModels, random: Random) -> None:
        self._api, self._models, self._random = api, models, random
        self._books: list[int] = []
        self._chapters: dict[int, list[int]] = {}
        self._reports: list[int] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)

    async def live(self) -> Counter[str]:
        """Do random deeds. Returns how many of each."""
        chosen = self._random.sample(DEEDS, self._random.randint(2, 5))
        loop = self._random.random() < 0.5  # the same few deeds in the same order, again and again
        done: Counter[str] = Counter()
        await self.draft()
        for number in range(DEEDS_OF_A_HISTORY):
            deed = chosen[number % len(chosen)] if loop else self._random.choice(chosen)
            await self._do(deed)
            done[deed.__name__] += 1
        await self._come_to_rest()
        return done

    async def _do(self, deed: Deed) -> None:
        if not self._books:
            await self.draft()
        if self._random.random() < 0.4:
            self._models.script(self._random.choice(FAULTS))
        before = len(self._models.requests)
        task = asyncio.create_task(deed(self))
        self._tasks.add(task)
        heard = asyncio.create_task(self._models.arrived(before + 1))
        await asyncio.wait({task, heard}, timeout=MOMENT, return_when=asyncio.FIRST_COMPLETED)
        if self._random.random() < 0.5:
            await asyncio.wait({heard}, timeout=MOMENT)  # the answer of a start comes before its call
        heard.cancel()
        if self._random.random() < 0.3:
            self._models.release()

    async def _come_to_rest(self) -> None:
        self._models.forget_script()
        async with asyncio.timeout(PATIENCE):
            while True:
                self._models.release()
                self._tasks = {task for task in self._tasks if not task.done() or task.result()}
                rest = await self._api.services.database.http.fetchval(AT_REST)
                if rest and not self._tasks and self._models.in_flight == 0:
                    return
                await asyncio.sleep(0.02)

    async def _post(self, path: str, body: Any = None) -> Reply:
        reply = await self._api.post(path, body)
        assert reply.status < 500 or reply.status in (502, 503), (path, reply.status, reply.body)
        return reply

    def _mark(self, kind: str) -> str:
        """A word that tells the provider's calls of one job from those of others."""
        return f"{kind}-{next(self._numbers)}-{kind}"

    @property
    def _book(self) -> int:
        return self._random.choice(self._books) if self._books else 0

    @property
    def _chapter(self) -> int:
        chapters = [each for book in self._books for each in self._chapters[book]]
        return self._random.choice(chapters) if chapters else 0

    async def draft(self) -> None:
        form = {"title": "A Day", "chapter_count": CHAPTERS, "target_word_count": WORDS}
        made = await self._post("/books/", form)
        if made.status != 201:
            return
        book = made.body["id"]
        plan = [{"title": f"Part {number}", "summary": "It goes on."} for number in range(CHAPTERS)]
        told = [{**each, "target_word_count": WORDS // CHAPTERS} for each in plan]
        outlined = await self._post(f"/books/{book}/update-outline/", {"chapters": told})
        self._chapters[book] = [each["id"] for each in outlined.body["chapters"]]
        self._books.append(book)

    async def outline(self) -> None:
        book = self._book
        await self._api.patch(f"/books/{book}/", {"style_notes": self._mark("OUTLINE")})
        outlined = await self._post(f"/books/{book}/generate-outline/")
        if outlined.status == 200 and book in self._books:
            self._chapters[book] = [each["id"] for each in outlined.body["chapters"]]

    async def rework(self) -> None:
        book = self._book
        body = {"chapter_ids": self._chapters.get(book, [])[:1], "instructions": self._mark("OUTLINE")}
        await self._post(f"/books/{book}/regenerate-chapters/", body)

    async def start(self) -> None:
        await self._post(f"/books/{self._book}/generate/")

    async def stop(self) -> None:
        await self._post(f"/books/{self._book}/stop-generation/")

    async def start_and_stop(self) -> None:
        book, before = self._book, len(self._models.requests)
        await self._post(f"/books/{book}/generate/")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._models.arrived(before + 1), MOMENT)
        await self._post(f"/books/{book}/stop-generation/")

    async def pause(self) -> None:
        await self._post(f"/books/{self._book}/pause-generation/")

    async def resume(self) -> None:
        await self._post(f"/books/{self._book}/resume-generation/")

    async def produce(self) -> None:
        await self._post(f"/books/{self._book}/produce/", {"again": True})

    async def regenerate(self) -> None:
        await self._post(f"/chapters/{self._chapter}/regenerate/", {"instructions": self._mark("EDIT")})

    async def regenerate_all(self) -> None:
        await asyncio.gather(*(self.regenerate() for _ in range(6)))

    async def passage(self) -> None:
        chapter, mark = self._chapter, self._mark("EDIT")
        await self._post(
            f"/chapters/{chapter}/regenerate/", {"instructions": mark, "passage": {"start": 0, "end": len(TEXT) - 1}}
        )

    async def edit(self) -> None:
        text = TEXT * self._random.randint(1, 30) + str(next(self._numbers))
        await self._api.patch(f"/chapters/{self._chapter}/", {"content": text})

    async def empty(self) -> None:
        await self._api.patch(f"/chapters/{self._chapter}/", {"content": ""})

    async def plan(self) -> None:
        """Change what an unfinished chapter is about, so that none of its stored parts can be used."""
        summary = f"Something else, number {next(self._numbers)}."
        await self._api.patch(f"/chapters/{self._chapter}/", {"summary": summary})

    async def lengthen(self) -> None:
        await self._api.patch(f"/chapters/{self._chapter}/", {"target_word_count": self._random.randint(50, WORDS)})

    async def duplicate(self) -> None:
        book = self._book
        copied = await self._post(f"/books/{book}/duplicate/")
        if copied.status == 201:
            self._books.append(copied.body["id"])
            self._chapters[copied.body["id"]] = [each["id"] for each in copied.body["chapters"]]

    async def delete(self) -> None:
        if self._books:
            book = self._books.pop(self._random.randrange(len(self._books)))
            await self._api.delete(f"/books/{book}/")

    async def review(self) -> None:
        self._ask_report(await self._post(f"/books/{self._book}/review/"))

    async def proofread(self) -> None:
        self._ask_report(await self._post("/proofreading-reports/", {"book": self._book}))

    def _ask_report(self, reply: Reply) -> None:
        if reply.status == 202:
            self._reports.append(reply.body["id"])

    async def delete_report(self) -> None:
        if self._reports:
            await self._api.delete(f"/proofreading-reports/{self._reports.pop()}/")

    async def cover(self) -> None:
        await self._post(f"/books/{self._book}/generate-cover/", {"count": self._random.randint(1, 3)})


Deed = Callable[[FreeAccount], Awaitable[None]]
DEEDS: tuple[Any, ...] = (
    FreeAccount.outline, FreeAccount.rework, FreeAccount.start, FreeAccount.start, FreeAccount.stop, FreeAccount.stop,
    FreeAccount.start_and_stop, FreeAccount.pause, FreeAccount.resume, FreeAccount.produce, FreeAccount.regenerate,
    FreeAccount.regenerate_all, FreeAccount.passage, FreeAccount.edit, FreeAccount.edit, FreeAccount.empty,
    FreeAccount.plan, FreeAccount.lengthen, FreeAccount.duplicate, FreeAccount.delete, FreeAccount.delete,
    FreeAccount.review, FreeAccount.proofread, FreeAccount.delete_report, FreeAccount.draft, FreeAccount.cover,
)  # fmt: skip


class Universe:
    """A service with a database and providers of its own, on which one history follows the other."""

    def __init__(self, api: Api, models: NotingModels, images: ImageServer) -> None:
        self._api, self._models, self._images = api, models, images

    async def live(self, seed: int) -> tuple[Tally, Counter[str]]:
        """Live one history and judge it. Raises AssertionError with its seed."""
        random = Random(seed)
        stranger = await self._api.as_nobody()
        # Registrations are limited by network.
        stranger.extra = {"X-Forwarded-For": f"10.{seed >> 14 & 127}.{seed >> 7 & 127}.{seed & 127}"}
        form = {"username": f"reader{seed}", "email": f"reader{seed}@example.com", "password": PASSWORD}
        registered = await stranger.post("/auth/register/", form)
        assert registered.status == 201, registered.body
        account, token = registered.body["user"]["id"], registered.body["tokens"]["access"]
        pool = self._api.services.database.http
        await pool.execute(VERIFY, account)
        stranger.access = token
        self._models.reset()
        self._images.requests.clear()
        done = await FreeAccount(stranger, self._models, random).live()
        return await Judge(pool, account, seed).check(self._models.requests, len(self._images.requests)), done


@contextlib.asynccontextmanager
async def universe(lent: Lent, folder: Path) -> AsyncIterator[Universe]:
    database = await lent.database()
    await database.http.execute(SHRINK, SMALL)
    async with NotingModels() as models, ImageServer() as images:
        access = {"anthropic": Access("key", models.anthropic_url), "openai": Access("key", images.url)}
        told = ModelSettings(access=access, retry_delay=0.001, retries=1, concurrency=16)
        settings: dict[str, Any] = {"billing": "on", "trusted_proxies": "127.0.0.0/8"}
        settings["model"] = build_text_model(TEXT_MODEL, told)
        settings["images"] = build_image_model(IMAGE_MODEL, told)
        async with serving(database, folder, **settings) as api:
            yield Universe(api, models, images)


@contextlib.contextmanager
def small_allowances() -> Iterator[None]:
    """The allowances that are no part of a plan, small enough for short histories."""
    with (
        mock.patch.object(failed_jobs, "FREE_A_PERIOD", FAILURES),
        mock.patch.object(outlines, "MIN_BOOKS", FREE_BOOKS),
    ):
        yield


class HistoryFigures:
    def __init__(self, wanted: int) -> None:
        self._wanted, self._began = wanted, time.perf_counter()
        self._done: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._spent: Counter[str] = Counter()
        self.violations: list[str] = []
        self._lived = 0

    def lived(self, tally: Tally, done: Counter[str]) -> None:
        self._lived += 1
        self._done += done
        for name, (used, allowed) in tally.items():
            self._most[name] = max(self._most[name], used)
            self._spent[name] += used >= allowed
        if self._lived % 10 == 0:
            print(f"{self._lived} of {self._wanted} histories, {self._seconds():.0f} s", flush=True)

    def end(self) -> None:
        print(f"{self._lived} histories, {self._done.total()} deeds, {self._seconds():.0f} s, "
              f"{len(self.violations)} violations")  # fmt: skip
        for name, count in self._done.most_common():
            print(f"{count:>8}  {name}")
        for name, most in sorted(self._most.items()):
            print(f"{most:>8}  most {name} in a history; {self._spent[name]} histories used all of theirs")

    def _seconds(self) -> float:
        return time.perf_counter() - self._began


async def _live(cluster_dsn: str, histories: int, seed: int, universes: int) -> bool:
    seeds, progress, databases = iter(range(seed, seed + histories)), HistoryFigures(histories), Databases(cluster_dsn)

    async def one() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with databases.lent() as lent, universe(lent, Path(folder)) as lived:
                for each in seeds:
                    try:
                        progress.lived(*await lived.live(each))
                    except AssertionError as violation:
                        progress.violations.append(str(violation))
                        print(violation, flush=True)

    with small_allowances():
        await asyncio.gather(*(one() for _ in range(universes)))
    databases.close()
    progress.end()
    return not progress.violations


def main() -> None:
    from tests.conftest import Cluster

    processes.start = start_worker  # type: ignore[assignment]

    parser = argparse.ArgumentParser(prog="python -m tests.http.free_histories")
    parser.add_argument("histories", nargs="?", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--universes", type=int, default=3)
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    cluster = Cluster()
    try:
        held = asyncio.run(_live(cluster.dsn, given.histories, given.seed, given.universes))
    finally:
        cluster.close()
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
