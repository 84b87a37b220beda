"""DBOS Transact on the same PostgreSQL, in a separate process: one workflow per book, one step per chapter.

    python -m bench.durable.dbos_peer URL steps|starts|interrupt|recover AMOUNT [TASKS] < text

Prints one JSON value. A step returns the chapter's text and writes nothing else, which favours DBOS.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from dbos import DBOS, DBOSConfig, SetWorkflowID

TEXT = ""
BEGUN = 0
UNTIL = 0.0


@DBOS.step()
async def chapter(_number: int) -> str:
    return TEXT


@DBOS.step()
async def hang() -> None:
    global BEGUN  # counted across workflows of this process
    BEGUN += 1
    await asyncio.sleep(600)


@DBOS.workflow()
async def write(_book: int) -> int:
    count = 0
    while time.perf_counter() < UNTIL:
        await chapter(count)
        count += 1
    return count


@DBOS.workflow()
async def stand(_book: int) -> None:
    await hang()


async def steps(seconds: float, tasks: int) -> float:
    global UNTIL
    UNTIL = time.perf_counter() + seconds
    handles = [await DBOS.start_workflow_async(write, book) for book in range(tasks)]
    return sum([await handle.get_result() for handle in handles]) / seconds


async def starts(count: int, tasks: int) -> list[float]:
    times = []

    async def start(share: int) -> None:
        for book in range(share, count, tasks):
            started = time.perf_counter()
            await DBOS.start_workflow_async(stand, book)
            times.append(time.perf_counter() - started)

    await asyncio.gather(*(start(share) for share in range(tasks)))
    return times


async def interrupt(count: int) -> int:
    for book in range(count):
        with SetWorkflowID(f"book-{time.time_ns()}-{book}"):
            await DBOS.start_workflow_async(stand, book)
    while count > BEGUN:
        await asyncio.sleep(0.01)
    return BEGUN


async def recover(count: int, launched: float) -> float:
    while count > BEGUN:
        await asyncio.sleep(0.005)
    return time.perf_counter() - launched


async def main() -> None:
    global TEXT
    TEXT = sys.stdin.read()
    url, what, amount = sys.argv[1:4]
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": url,
        "log_level": "ERROR",
        "application_version": "v1",
        "executor_id": "local",
        "enable_otlp": False,
    }
    DBOS(config=config)
    launched = time.perf_counter()
    DBOS.launch()
    match what:
        case "steps":
            answer: object = await steps(float(amount), int(sys.argv[4]))
        case "starts":
            answer = await starts(int(amount), int(sys.argv[4]))
        case "interrupt":
            answer = await interrupt(int(amount))
        case _:
            answer = await recover(int(amount), launched)
    print(json.dumps(answer), flush=True)
    os._exit(0)  # like kill -9: running workflows are interrupted


if __name__ == "__main__":
    asyncio.run(main())
