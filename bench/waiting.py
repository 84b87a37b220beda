"""The cost of `Prefer: wait`: the delay until a waiter gets a change, memory per waiter, and the effect on other polls.

    python -m bench.waiting [--waiters 1000] [--rounds 9]

`bookgen serve` runs as a separate process. Each account has one paused run, and 25 waiters that wait for a change of
it.
- Heard: the time from sending the command that changes the run until a waiter has the new status. This includes the
  command itself and its commit.
- Memory: the growth of the service's process when connections that have polled before start to wait.
- Polls of others: the service's CPU time for one poll of another account, alternately without waiters and with all of
  them. The ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Self
from urllib.parse import urlsplit

import asyncpg

from bench.service.data import token
from bench.service.processes import SECRET
from tests.conftest import Cluster
from tests.databases import TEMPLATE
from tests.service import ServiceProcess

EACH = 25  # waiters per account, below the limit of 32
POLLS = 1000
NOT_MODIFIED = 304
TICK = os.sysconf("SC_CLK_TCK")
HEARD_MOST, MEMORY_MOST, POLLS_MOST = 0.1, 4.0, 1.05

FILL = """
    WITH accounts AS (
        INSERT INTO account (username, email, email_verified)
        SELECT 'user' || n, 'user' || n || '@example.org', true FROM generate_series(1, $1::int) n RETURNING id
    ), books AS (
        INSERT INTO book (account_id, title, subtitle, genre, target_audience, description, chapter_count,
                          target_word_count, trim_size, content_language, status)
        SELECT id, 'The Salt Road', '', '', '', '', 2, 400, '6x9', 'en', 'generating' FROM accounts
        RETURNING id, account_id
    ), chapters AS (
        INSERT INTO chapter (book_id, chapter_number, title, summary, content, word_count, target_word_count, status)
        SELECT id, n, 'Chapter ' || n, '', '', 0, 200, 'pending' FROM books, generate_series(1, 2) n
    )
    INSERT INTO run (id, book_id, account_id, status, mode, total, done, written, call_no, words_written,
                     writing_seconds, epoch, current_chapter)
    SELECT gen_random_uuid(), id, account_id, 'paused', 'full', 2, 0, 0, 0, 0, 0, 1, 1 FROM books
    RETURNING book_id, account_id
"""


class WaitingCaller:
    """An account's persistent connection that requests the status of its book."""

    def __init__(self, url: str, book_id: int, account_id: int) -> None:
        address = urlsplit(url)
        self._host, self._port = str(address.hostname), address.port
        self._path = f"/api/v1/books/{book_id}"
        self._head = f"Host: {address.netloc}\r\nAuthorization: Bearer {token(account_id)}\r\n"
        self._tag = ""

    async def open(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def poll(self) -> int:
        """Poll once. Returns the HTTP status."""
        return await self._ask("GET", "generation-status", "")

    async def wait(self) -> float:
        """Wait for a new response. Returns the time at which it arrived."""
        asked = f"If-None-Match: {self._tag}\r\nPrefer: wait=60\r\n"
        while (status := await self._ask("GET", "generation-status", asked)) == NOT_MODIFIED:
            pass
        assert status == 200, status
        return time.perf_counter()

    async def stop(self) -> None:
        assert await self._ask("POST", "stop-generation", "Content-Length: 0\r\n") == 200

    async def _ask(self, method: str, action: str, more: str) -> int:
        self._writer.write(f"{method} {self._path}/{action}/ HTTP/1.1\r\n{self._head}{more}\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        if length := re.search(r"(?i)\r\ncontent-length: (\d+)", head):
            await self._reader.readexactly(int(length[1]))
        if tag := re.search(r"(?i)\r\netag: (\S+)", head):
            self._tag = tag[1]
        return int(head.split(" ", 2)[1])


class MeasuredProcess:
    """Memory and CPU time of a process."""

    def __init__(self, process_id: int) -> None:
        self._folder = Path(f"/proc/{process_id}")

    def memory(self) -> float:
        """Resident memory in KB."""
        rows = dict(line.split(":", 1) for line in (self._folder / "status").read_text().splitlines())
        return float(rows["VmRSS"].split()[0])

    def spent(self) -> float:
        """CPU seconds so far."""
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    async def at_rest(self) -> None:
        """Wait until the process is idle: until it uses less than a twentieth of a core."""
        before = -1.0
        while self.spent() - before > 0.025:
            before = self.spent()
            await asyncio.sleep(0.5)


async def polls(caller: WaitingCaller, service: MeasuredProcess) -> float:
    """The service's CPU seconds for one poll."""
    await caller.open()
    before = service.spent()
    for _ in range(POLLS):
        await caller.poll()
    spent = service.spent() - before
    await caller.close()
    return spent / POLLS


async def round(callers: list[WaitingCaller], other: WaitingCaller, service: MeasuredProcess) -> tuple[float, float]:
    """The memory of a waiter in addition to its connection, in KB, and the ratio of the polls of others."""
    alone = await polls(other, service)
    await asyncio.gather(*(caller.open() for caller in callers))
    await asyncio.gather(*(caller.poll() for caller in callers))
    await service.at_rest()
    before = service.memory()
    waits = [asyncio.create_task(caller.wait()) for caller in callers]
    await service.at_rest()
    taken = (service.memory() - before) / len(callers)
    ratio = await polls(other, service) / alone
    for wait in waits:
        wait.cancel()
    await asyncio.wait(waits)
    for caller in callers:
        await caller.close()
    return taken, ratio


async def heard(callers: list[WaitingCaller], stoppers: list[WaitingCaller], service: MeasuredProcess) -> list[float]:
    """Stop the books one after the other. Returns the seconds until each waiter got the change."""
    await asyncio.gather(*(caller.open() for caller in callers))
    await asyncio.gather(*(caller.poll() for caller in callers))
    waits = [asyncio.create_task(caller.wait()) for caller in callers]
    await service.at_rest()
    delays = []
    for number, stopper in enumerate(stoppers):
        await stopper.open()
        sent = time.perf_counter()
        await stopper.stop()
        delays += [at - sent for at in await asyncio.gather(*waits[number :: len(stoppers)])]
    return delays


async def measure(dsn: str, given: argparse.Namespace) -> bool:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(FILL, -(-given.waiters // EACH) + 1)
    await connection.close()
    folder = Path(tempfile.mkdtemp(prefix="bookgen-bench-"))
    settings = {"BOOKGEN_DATABASE_URL": dsn, "BOOKGEN_SECRET_KEY": SECRET, "BOOKGEN_LOG_LEVEL": "warning"}
    async with ServiceProcess(folder, **settings, BOOKGEN_RATE_READ="1000000/minute") as process:
        service = MeasuredProcess(process.process.pid)
        other, *stoppers = [WaitingCaller(process.url, *row) for row in rows]
        callers = [
            WaitingCaller(process.url, *row) for row in itertools.islice(itertools.cycle(rows[1:]), given.waiters)
        ]
        rounds = [await round(callers, other, service) for _ in range(given.rounds)]
        delays = await heard(callers, stoppers, service)
    memory = rounds[0][0]  # later rounds reuse memory that the first one has freed
    ratio = median(ratio for _, ratio in rounds)
    print(f"{given.waiters} waiters, {given.rounds} rounds")
    print(f"{'heard, slowest waiter':<34} {max(delays) * 1000:>7.1f} ms of 100; median {median(delays) * 1000:.1f}")
    print(f"{'a waiter in addition to its connection':<34} {memory:>7.2f} KB of 4")
    print(f"{'CPU of a poll of others, ratio':<34} {ratio:>7.3f} of 1.05")
    return max(delays) <= HEARD_MOST and memory <= MEMORY_MOST and ratio <= POLLS_MOST


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.waiting")
    parser.add_argument("--waiters", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    cluster = Cluster()
    try:
        return 0 if asyncio.run(measure(cluster.dsn.replace("/postgres?", f"/{TEMPLATE}?"), given)) else 1
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
