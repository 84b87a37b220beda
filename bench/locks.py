"""Deadlocks in ordinary use: three mixes of concurrent requests that write the same rows in different ways.

    python -m bench.locks [--seconds 60] [--only saves,deletions,covers]

Prints, for each mix, the responses by status and the deadlocks that PostgreSQL counted. The bars are 0 deadlocks and 0
responses 503. The exit status is 1 if a bar was missed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp
import asyncpg

from tests.conftest import Cluster
from tests.databases import TEMPLATE
from tests.service import ServiceProcess

PASSWORD = "correct horse 7"
ACCOUNTS, CHAPTERS = 4, 6
TEXT = "She walked along teh quay , and the the river said nothing of what it had seen that night. " * 4
RATES = {f"BOOKGEN_RATE_{name}": "999999/second" for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


@dataclass
class MixAuthor:
    """A signed-in account that counts its responses by status."""

    session: aiohttp.ClientSession
    statuses: Counter[int]
    ends: float
    access: str = ""
    random: random.Random = field(default_factory=lambda: random.Random(1))

    @property
    def goes_on(self) -> bool:
        return asyncio.get_running_loop().time() < self.ends

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make a call, and return the JSON of the response."""
        headers = {"Authorization": f"Bearer {self.access}"} if self.access else {}
        async with self.session.request(method, f"api/v1{path}", json=body, headers=headers) as reply:
            self.statuses[reply.status] += 1
            return await reply.json() if reply.content_type == "application/json" and reply.status != 204 else None

    async def written_book(self, chapters: int = CHAPTERS) -> tuple[int, list[int]]:
        """Create a book in which every chapter has text. Returns its id and those of the chapters."""
        fields = {"title": "The Salt Road", "chapter_count": chapters, "target_word_count": 100 * chapters}
        book = (await self.call("POST", "/books/", {**fields, "description": "A widow smuggles salt."}))["id"]
        outline = [{"title": f"Chapter {n}", "summary": "She walks."} for n in range(1, chapters + 1)]
        await self.call("POST", f"/books/{book}/update-outline/", {"chapters": outline})
        ids = [each["id"] for each in (await self.call("GET", f"/books/{book}/"))["chapters"]]
        for chapter in ids:
            await self.call("PATCH", f"/chapters/{chapter}/", {"content": TEXT})
        return book, ids


async def saves(author: MixAuthor) -> None:
    """Saves of chapters during generate and stop of the same book."""
    book, chapters = await author.written_book()

    async def save(chapter: int) -> None:
        while author.goes_on:
            change = {"content": f"{author.random.random()} {TEXT}"}
            await author.call("PATCH", f"/chapters/{chapter}/", author.random.choice([change, {"title": "Another"}]))

    async def steer() -> None:
        while author.goes_on:
            await author.call("POST", f"/books/{book}/generate/")
            await asyncio.sleep(author.random.random() / 20)
            await author.call("POST", f"/books/{book}/stop-generation/")

    async with asyncio.TaskGroup() as group:
        for chapter in chapters:
            group.create_task(save(chapter))
        group.create_task(steer())


async def deletions(author: MixAuthor) -> None:
    """Deletion of a book while its proofreading report completes."""
    seconds = 0.0
    while author.goes_on:
        book, chapters = await author.written_book()
        started = asyncio.get_running_loop().time()
        report = (await author.call("POST", "/proofreading-reports/", {"book": book}))["id"]
        if author.random.random() < 0.2 or not seconds:  # one in five is waited for, to learn how long a report takes
            while (await author.call("GET", f"/proofreading-reports/{report}/"))["status"] in ("pending", "running"):
                pass
            seconds = asyncio.get_running_loop().time() - started
        else:
            await asyncio.sleep(author.random.uniform(0.5, 1.1) * seconds)
        await asyncio.gather(
            author.call("DELETE", f"/books/{book}/"),
            *(author.call("PATCH", f"/chapters/{each}/", {"content": "Gone."}) for each in chapters),
        )


async def covers(author: MixAuthor) -> None:
    """Covers made and selected during a production of the same book, which also makes and selects one."""

    async def draw(book: int) -> None:
        made = (await author.call("POST", f"/books/{book}/generate-cover/", {"count": 1})).get("covers", [])
        if made and author.random.random() < 0.1:
            await author.call("POST", f"/books/{book}/select-cover/", {"cover_id": made[0]["id"]})

    async def produce(book: int) -> None:
        status = "running"
        await author.call("POST", f"/books/{book}/produce/")
        while status == "running" and author.goes_on:
            status = (await author.call("GET", f"/books/{book}/generation-status/"))["generation_status"]
            await asyncio.sleep(0.05)
        await author.call("POST", f"/books/{book}/stop-generation/")

    while author.goes_on:
        book, _ = await author.written_book(1)
        production = asyncio.create_task(produce(book))
        while not production.done():
            await asyncio.gather(draw(book), draw(book))
        await production


MIXES: Mapping[str, Callable[[MixAuthor], Awaitable[None]]] = MappingProxyType(
    {"saves": saves, "deletions": deletions, "covers": covers}
)


@dataclass(frozen=True)
class MixOutcome:
    """The responses to a mix by status, and the deadlocks in that time."""

    statuses: Counter[int]
    deadlocks: int

    @property
    def passed(self) -> bool:
        return self.deadlocks == 0 and not any(status >= 500 for status in self.statuses)


async def outcome(mix: str, dsn: str, folder: Path, seconds: float) -> MixOutcome:
    """Send a mix for `seconds` to a new service on the migrated database `dsn`."""
    statuses: Counter[int] = Counter()
    before = await counted(dsn)
    async with ServiceProcess(folder, BOOKGEN_DATABASE_URL=dsn, BOOKGEN_LOG_LEVEL="info", **RATES) as service:
        async with aiohttp.ClientSession(service.url.rstrip("/") + "/") as session:
            ends = asyncio.get_running_loop().time() + seconds
            authors = [await signed_up(MixAuthor(session, statuses, ends), f"ada{n}") for n in range(ACCOUNTS)]
            await asyncio.gather(*map(MIXES[mix], authors))
        await service.stop()  # a session of PostgreSQL reports its deadlocks when it ends
    return MixOutcome(statuses, await counted(dsn) - before)


async def signed_up(author: MixAuthor, name: str) -> MixAuthor:
    form = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    author.access = (await author.call("POST", "/auth/register/", form))["tokens"]["access"]
    return author


async def counted(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(DEADLOCKS))
    finally:
        await connection.close()


async def measure(dsn: str, mixes: list[str], seconds: float) -> bool:
    """Run the mixes. Returns whether all passed."""
    passed = True
    for mix in mixes:
        name = f"locks_{mix}"
        server = await asyncpg.connect(dsn)
        await server.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        await server.close()
        folder = Path(tempfile.mkdtemp(prefix="bookgen-bench-"))
        found = await outcome(mix, dsn.replace("/postgres", f"/{name}"), folder, seconds)
        answers = ", ".join(f"{count} × {status}" for status, count in sorted(found.statuses.items()))
        print(f"{mix:<10} {seconds:.0f} s: {found.deadlocks} deadlocks; {answers}", flush=True)
        passed = passed and found.passed
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.locks")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default=",".join(MIXES))
    given = parser.parse_args()
    cluster = Cluster()
    try:
        sys.exit(0 if asyncio.run(measure(cluster.dsn, given.only.split(","), given.seconds)) else 1)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
