"""Durability compared with its lower bound and two peers, in one run on one PostgreSQL. Compare the ratios.

    pip install -r bench/requirements.txt
    python -m bench.durable [--rounds 5] [--seconds 2] [--recover 1000] [--no-peers]

- raw: one row per commit, with asyncpg. `raw+` stores texts out of line and uncompressed, as we do; `raw` uses the
  defaults of PostgreSQL.
- DBOS: DBOS Transact. Its steps return the chapter and write nothing else. Its workflows are more general than our
  runs.
- LangGraph: its PostgreSQL checkpointer, with one checkpoint per chapter.
- ours: the service's own code on the service's event loop. It stores the chapter, keeps the former text, advances the
  run and announces the next chapter.

The variants alternate within a round; the medians of the rounds are shown. Each measured start is followed by one raw
commit, so both run under the same load, because an accepted run is still busy at that time. `raw alone` is a series of
commits without other load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shutil
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import structlog
import uvloop

from bench.durable import ours, raw
from bookgen.store.database import Database
from bookgen.store.migrate import migrate
from bookgen.store.postgres.embedded import EmbeddedPostgres

ROOT = Path(__file__).parents[2]
PROSE = (*ROOT.glob("bookgen/http/demo/*.md"), *ROOT.glob("docs/*.md"))


class ResultTable:
    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self.samples.setdefault(name, []).append(value)

    def median(self, name: str) -> float | None:
        return statistics.median(self.samples[name]) if name in self.samples else None

    def show(self, what: str, unit: str, scale: float, names: list[str]) -> None:
        values = {name: self.median(f"{what} {name}") for name in names}
        own = values[names[0]]
        print(f"\n{what}")
        for name, value in values.items():
            if value is not None and own is not None:
                ratio = "" if name == names[0] else f"   ours / {name} = {own / value:.2f}"
                print(f"  {name:<9} {value * scale:12,.2f} {unit}{ratio}")


async def peer(text: str, module: str, *arguments: object) -> Any:
    command = [sys.executable, "-m", f"bench.durable.{module}", *map(str, arguments)]
    child = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await child.communicate(text.encode())
    return json.loads(output.splitlines()[-1])


async def measure(options: argparse.Namespace, database: Database, peers: dict[str, str]) -> None:
    table, text, seconds = ResultTable(), chapter_text(), options.seconds
    dbos = partial(peer, text, "dbos_peer", peers.get("dbos"))
    await raw.prepare(database.runs)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        for tasks in (1, 8):
            what = f"chapters of 20 KB a second, {tasks} at once"
            table.add(f"{what} ours", await ours.checkpoints(database, text, tasks, seconds))
            table.add(f"{what} raw", await raw.inserts(database.runs, raw.DEFAULT, text, tasks, seconds))
            table.add(f"{what} raw+", await raw.inserts(database.runs, raw.OUT_OF_LINE, text, tasks, seconds))
            if peers:
                table.add(f"{what} DBOS", await dbos("steps", seconds, tasks))
                langgraph = await peer(text, "langgraph_peer", peers["langgraph"], seconds, tasks)
                table.add(f"{what} LangGraph", langgraph)
        what = "start and acknowledge, median"
        starts, commits = await ours.start_and_ack(database, 200)
        table.add(f"{what} ours", statistics.median(starts))
        table.add(f"{what} raw", statistics.median(commits))
        table.add(f"{what} raw alone", statistics.median(await raw.commits(database.runs, 200)))
        if peers:
            table.add(f"{what} DBOS", statistics.median(await dbos("starts", 200, 1)))
        what = "start and acknowledge, 8 at once, median"
        table.add(f"{what} ours", statistics.median(await ours.starts_at_once(database, 400, 8)))
        if peers:
            table.add(f"{what} DBOS", statistics.median(await dbos("starts", 400, 8)))
    for tasks in (1, 8):
        what = f"chapters of 20 KB a second, {tasks} at once"
        table.show(what, "/s", 1, ["ours", "raw", "raw+", "DBOS", "LangGraph"])
    table.show("start and acknowledge, median", "ms", 1000, ["ours", "raw", "raw alone", "DBOS"])
    table.show("start and acknowledge, 8 at once, median", "ms", 1000, ["ours", "DBOS"])

    acks = sorted(await ours.pause_acks(database, 1000, 300))
    print(f"\npause answered, 1,000 calls in flight\n  p50 {acks[150] * 1000:.2f} ms, p99 {acks[296] * 1000:.2f} ms")
    for count in options.recover:
        took = await ours.recovery(database, count)
        print(f"\nrecovery of {count:,} interrupted runs\n  ours   {took:.2f} s", flush=True)
        if peers and count <= 1000:
            await dbos("interrupt", count)
            theirs = await dbos("recover", count)
            print(f"  DBOS   {theirs:.2f} s   DBOS / ours = {theirs / took:.0f}")
    await ours.books_at_once(database, 8, 20, 0.01)  # warm-up: connections prepare their statements
    idle = statistics.median(await raw.commits(database.runs, 50, rest=0.05))
    print(
        "\nbooks at once, 20 chapters each: a book's time divided by that of its calls; this process's share of a core"
    )
    print(f"  one raw commit after 50 ms of rest, the minimum that a chapter adds: {idle * 1000:.2f} ms")
    for books, call_seconds in ((8, 0.05), (200, 0.05), (200, 1.0)):
        alone = await ours.calls_alone(books, 20, call_seconds)
        together, cpu = await ours.books_at_once(database, books, 20, call_seconds)
        ratio = together / alone
        print(f"  {books:3} books, calls of {call_seconds * 1000:4.0f} ms   {ratio:.3f}   {cpu:4.0%}", flush=True)
    print(f"\nan idle resident actor\n  {ours.bytes_an_actor(database, 10_000):,.0f} bytes")


def chapter_text() -> str:
    """20 KB of English without repetition."""
    text = "".join(path.read_text("utf-8") for path in PROSE)
    assert len(text) >= 20_000
    return text[:20_000]


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--recover", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    folder = Path(tempfile.mkdtemp(prefix="bookgen-bench-"))
    server = EmbeddedPostgres(folder)
    await server.start()
    dsn = server.superuser_dsn  # the superuser, to create a database for each peer
    try:
        await migrate(dsn, ROOT / "sql")
        names = () if options.no_peers else ("dbos", "langgraph")
        peers = {name: await _database(dsn, f"{name}_bench") for name in names}
        database = await Database.open(dsn)
        await measure(options, database, peers)
        await database.close()
    finally:
        await server.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def _database(dsn: str, name: str) -> str:
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    path = dsn.index("?")
    return f"{dsn[: dsn.rindex('/', 0, path)]}/{name}{dsn[path:]}"


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
