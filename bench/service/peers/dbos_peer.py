"""DBOS Transact: one workflow per book, one step per call of the scripted model server.

    python -m bench.service.peers.dbos_peer write|recover DSN MODEL_URL BOOKS CHAPTERS [number, words, ...]

`write` prints the seconds, the CPU seconds and the chapters. `recover` continues the workflows of a killed process.
Only the replies of steps are stored, which favours DBOS.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import aiohttp
from dbos import DBOS, DBOSConfig

WHAT, DSN, MODEL, BOOKS, CHAPTERS, ASKED = sys.argv[1:7]
PARTS = json.loads(ASKED)
_sessions: list[aiohttp.ClientSession] = []  # one, created on the event loop


@DBOS.step()
async def call(book: int, chapter: int, part: int, words: int) -> str:
    async with _sessions[0].get(f"{MODEL}/text/{book}/{chapter}/{part}/{words}") as answer:
        return await answer.text()


@DBOS.workflow()
async def write(book: int) -> None:
    for chapter in range(1, int(CHAPTERS) + 1):
        for part, words in zip(PARTS[::2], PARTS[1::2], strict=True):
            await call(book, chapter, part, words)


async def main() -> None:
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": DSN,
        "log_level": "ERROR",
        "application_version": "v1",
        "executor_id": "local",
        "enable_otlp": False,
    }
    DBOS(config=config)
    timeout = aiohttp.ClientTimeout(total=3600)
    _sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout))
    DBOS.launch()
    if WHAT == "recover":
        await asyncio.Event().wait()
    began, cpu = time.perf_counter(), time.process_time()
    handles = [await DBOS.start_workflow_async(write, book) for book in range(int(BOOKS))]
    for handle in handles:
        await handle.get_result()
    took, used = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"wall": took, "cpu": used, "chapters": int(BOOKS) * int(CHAPTERS)}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
