"""The cost of surveying a novel, and the event loop lag meanwhile: `python -m bench.proofing.lag [de]`.

The novel has 100,000 words in forty chapters. Bars: 30 s of CPU, and a p99 of the lag of 20 ms.
"""

from __future__ import annotations

import asyncio
import dataclasses
import resource
import statistics
import sys
from collections.abc import AsyncIterator, Sequence

from bench.render import corpus
from bookgen.models import Chapter
from bookgen.writing.proofreading.survey import survey

TICK = 0.005  # seconds


async def lags(over: asyncio.Event) -> list[float]:
    """The delay of each tick of the loop, in milliseconds."""
    loop = asyncio.get_running_loop()
    found = []
    while not over.is_set():
        asked = loop.time()
        await asyncio.sleep(TICK)
        found.append((loop.time() - asked - TICK) * 1_000)
    return found


async def each(chapters: Sequence[Chapter]) -> AsyncIterator[Chapter]:
    for chapter in chapters:
        yield chapter


def cpu() -> float:
    """CPU seconds of this process and of its ended workers."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def main(tag: str) -> int:
    book, chapters = corpus.book(corpus.Corpus("proof", chapters=40, words=100_000))
    book = dataclasses.replace(book, content_language=tag)
    over = asyncio.Event()
    quiet = asyncio.create_task(lags(over))
    await asyncio.sleep(2)
    over.set()
    before = statistics.quantiles(await quiet, n=100)[98]
    over.clear()
    meanwhile = asyncio.create_task(lags(over))
    started = cpu()
    seen = await survey(book, each(chapters))
    seconds = cpu() - started
    over.set()
    found = await meanwhile
    late = statistics.quantiles(found, n=100)[98]
    print(f"{tag}: {sum(map(len, seen.rules.values()))} corrections, {seconds:.1f} s of CPU")
    print(
        f"lag p99 {late:.1f} ms, worst {max(found):.1f} ms, of {len(found)} ticks; with nothing to do {before:.1f} ms"
    )
    return int(seconds > 30 or late > 20)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "en")))
