"""LangGraph's PostgreSQL checkpointer on the same PostgreSQL, in a separate process: one thread per book.

    python -m bench.durable.langgraph_peer URL SECONDS TASKS < text

Prints checkpoints per second. Each has one channel with the chapter, like that of a graph whose node returns the
chapter.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver


async def write(saver: AsyncPostgresSaver, book: int, text: str, end: float) -> int:
    config = {"configurable": {"thread_id": f"book-{time.time_ns()}-{book}", "checkpoint_ns": ""}}
    count = 0
    while time.perf_counter() < end:
        count += 1
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"chapter": text}
        checkpoint["channel_versions"] = {"chapter": count}
        metadata = {"source": "loop", "step": count, "parents": {}}
        config = await saver.aput(config, checkpoint, metadata, {"chapter": count})
    return count


async def main() -> None:
    url, seconds, tasks = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    text = sys.stdin.read()
    async with AsyncExitStack() as stack:
        # A saver uses one connection and serves one caller at a time, so each book gets its own saver.
        savers = [await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(url)) for _ in range(tasks)]
        await savers[0].setup()
        end = time.perf_counter() + seconds
        done = await asyncio.gather(*(write(saver, book, text, end) for book, saver in enumerate(savers)))
    print(json.dumps(sum(done) / seconds))


if __name__ == "__main__":
    asyncio.run(main())
