"""Memory and latency while a very long book is proofread: `python -m bench.proofing.memory [--chapters 100]`.

`bookgen serve` runs as a separate process with the offline model. The memory is the peak above the level before the
report. The latency is that of another account's polls. Each chapter of the book has `--megabytes`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.render import corpus
from bookgen.client.client import Client
from tests.service import ServiceProcess

RATES = {f"BOOKGEN_RATE_{name}": "1000000/minute" for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}
PASSWORD = "correct horse battery"
MIN_CHAPTERS = 3  # in bytes: one sent to the worker, one in its reply, one on the way to the database
MIN_LETTERS = 5  # of a word
SAMPLE_SECONDS = 0.05


class Memory:
    """The peak memory of a process and its children above the level at the start, in megabytes."""

    def __init__(self, process_id: int) -> None:
        self._id = process_id
        self.before = self._resident(process_id)
        self.most = self.before
        self.of_worker = 0.0

    async def watch(self) -> None:
        while True:
            self.most = max(self.most, self._resident(self._id))
            for child in self._workers():
                with contextlib.suppress(OSError, KeyError):
                    self.of_worker = max(self.of_worker, self._resident(child))
            await asyncio.sleep(SAMPLE_SECONDS)

    def _workers(self) -> Iterator[int]:
        for task in Path(f"/proc/{self._id}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    if b"proofreading" in Path(f"/proc/{child}/cmdline").read_bytes():
                        yield int(child)

    @staticmethod
    def _resident(process_id: int) -> float:
        rows = dict(line.split(":", 1) for line in Path(f"/proc/{process_id}/status").read_text().splitlines())
        return float(rows["VmRSS"].split()[0]) / 1024


async def answers(client: Client, seconds: list[float]) -> None:
    while True:
        started = time.perf_counter()
        await client.list_books()
        seconds.append(time.perf_counter() - started)
        await asyncio.sleep(SAMPLE_SECONDS)


async def written(client: Client, chapters: int, size: int, language: str) -> int:
    """Create a book with this many chapters of this many characters each, and return its id."""
    await client.register("ada", "ada@example.org", PASSWORD)
    book = await client.create_book(
        title="Long", chapter_count=chapters, target_word_count=500_000, content_language=language
    )
    outline = [{"title": f"Chapter {number}", "summary": "Of salt."} for number in range(1, chapters + 1)]
    book = await client.update_outline(book["id"], outline)
    _, texts = corpus.book(corpus.Corpus("long", chapters=chapters, words=chapters * size // MIN_LETTERS))
    for chapter, text in zip(book["chapters"], texts, strict=True):
        await client.change_chapter(chapter["id"], content=text.content[:size])
    return int(book["id"])


async def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the service while it has a very long book proofread.")
    parser.add_argument("--chapters", type=int, default=100)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--language", default="de")
    given = parser.parse_args()
    size = int(given.megabytes * 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        async with ServiceProcess(Path(folder), **RATES) as service, Client(service.url) as author:
            book_id = await written(author, given.chapters, size, given.language)
            async with Client(service.url) as other:
                await other.register("bob", "bob@example.org", PASSWORD)
                late: list[float] = []
                memory = Memory(service.process.pid)
                started = time.perf_counter()
                report = await author.proofread(book_id)
                watching = [asyncio.create_task(each) for each in (memory.watch(), answers(other, late))]
                *_, report = [each async for each in author.reading(report["id"], 1.0)]
                for task in watching:
                    task.cancel()
    took, grown = time.perf_counter() - started, memory.most - memory.before
    slowest = statistics.quantiles(late, n=100)[98] * 1_000
    print(
        f"{given.chapters} chapters of {given.megabytes} MB, {given.language}: {report['status']}, {report['summary']}"
    )
    print(
        f"{took:.0f} s; service {memory.before:.0f} MB, at most {grown:.0f} MB more; worker {memory.of_worker:.0f} MB"
    )
    print(f"answers to others meanwhile: p99 {slowest:.0f} ms, worst {max(late) * 1_000:.0f} ms of {len(late)}")
    return int(report["status"] != "completed" or grown > MIN_CHAPTERS * given.megabytes + 60)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
