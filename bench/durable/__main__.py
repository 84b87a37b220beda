"""Durability against its floor and a peer, in one run on one PostgreSQL; what counts are the ratios.

    pip install -r bench/requirements.txt
    python -m bench.durable [--rounds 5] [--seconds 2] [--recover 1000] [--no-dbos]

raw: one row, one commit, asyncpg. DBOS: DBOS Transact, whose steps return the chapter and write nothing else; its
workflows are more general than our runs. The variants take turns within a round; the medians of the rounds are shown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import asyncpg

from bench.durable import ours, raw
from bookgen.store.database import Database
from bookgen.store.embedded import EmbeddedPostgres
from bookgen.store.migrate import migrate

SQL = Path(__file__).parents[2] / "sql"
TEXT = "x" * 20_000


class Table:
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
                print(f"  {name:<6} {value * scale:12,.2f} {unit}{ratio}")


async def dbos(dsn: str, what: str, *arguments: object) -> Any:
    command = [sys.executable, "-m", "bench.durable.dbos_peer", dsn, what, *map(str, arguments)]
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    return json.loads(output.splitlines()[-1])


async def measure(options: argparse.Namespace, database: Database, dbos_dsn: str | None) -> None:
    table = Table()
    await raw.prepare(database.runs)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        for tasks in (1, 8):
            what = f"chapters of 20 KB a second, {tasks} at once"
            table.add(f"{what} ours", await ours.checkpoints(database, TEXT, tasks, options.seconds))
            table.add(f"{what} raw", await raw.inserts(database.runs, TEXT, tasks, options.seconds))
            if dbos_dsn:
                table.add(f"{what} DBOS", await dbos(dbos_dsn, "steps", options.seconds, tasks))
        what = "start and acknowledge, median"
        table.add(f"{what} ours", statistics.median(await ours.start_and_ack(database, 200)))
        table.add(f"{what} raw", statistics.median(await raw.commits(database.runs, 200)))
        if dbos_dsn:
            table.add(f"{what} DBOS", statistics.median(await dbos(dbos_dsn, "starts", 200)))
    for tasks in (1, 8):
        table.show(f"chapters of 20 KB a second, {tasks} at once", "/s", 1, ["ours", "raw", "DBOS"])
    table.show("start and acknowledge, median", "ms", 1000, ["ours", "raw", "DBOS"])

    acks = sorted(await ours.pause_acks(database, 1000, 300))
    print(f"\npause answered, 1,000 calls in flight\n  p50 {acks[150] * 1000:.2f} ms, p99 {acks[296] * 1000:.2f} ms")
    for count in options.recover:
        print(
            f"\nrecovery of {count:,} interrupted runs\n  ours   {await ours.recovery(database, count):.2f} s",
            flush=True,
        )
        if dbos_dsn and count <= 1000:
            await dbos(dbos_dsn, "interrupt", count)
            print(f"  DBOS   {await dbos(dbos_dsn, 'recover', count):.2f} s")
    overhead = await ours.books_at_once(database, 200, 20, 0.05)
    print(f"\n200 books of 20 chapters, model calls of 50 ms\n  wall / model time = {overhead:.2f}")
    print(f"\nan idle resident actor\n  {ours.bytes_an_actor(database, 10_000):,.0f} bytes")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--recover", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--no-dbos", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bookgen-bench-"))
    server = EmbeddedPostgres(folder)
    dsn = await server.start()
    try:
        await migrate(dsn, SQL)
        dbos_dsn = None if options.no_dbos else await _database(dsn, "dbos_bench")
        database = await Database.open(dsn)
        await measure(options, database, dbos_dsn)
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
    asyncio.run(main())
