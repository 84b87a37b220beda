"""What the service takes to have a very long book proofread: `python -m bench.proofing.memory [--chapters 100]`.

`bookgen serve` runs as a process of its own, with the offline model. Its memory is what it has at most beyond what it
had before the report; how late it answers is measured at another account's polls. The book is `--megabytes` a chapter.
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
LEAST = 3  # chapters' bytes: what is told of the book, kept of a reply and on its way to the database
LETTERS = 5  # of a word, at least
EVERY = 0.05  # s


class Memory:
    """Megabytes that a process and its children have at most, beyond what it had at the start."""

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
            await asyncio.sleep(EVERY)

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
        await asyncio.sleep(EVERY)


async def written(client: Client, chapters: int, size: int, language: str) -> int:
    """The id of a book with so many chapters of so many characters."""
    await client.register("ada", "ada@example.org", PASSWORD)
    book = await client.create_book(
        title="Long", chapter_count=chapters, target_word_count=500_000, content_language=language
    )
    outline = [{"title": f"Chapter {number}", "summary": "Of salt."} for number in range(1, chapters + 1)]
    book = await client.update_outline(book["id"], outline)
    _, texts = corpus.book(corpus.Corpus("long", chapters=chapters, words=chapters * size // LETTERS))
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
    return int(report["status"] != "completed" or grown > LEAST * given.megabytes + 60)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
