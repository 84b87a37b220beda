"""The lower bound: one row per commit, with asyncpg."""

from __future__ import annotations

import asyncio
import time

import asyncpg

DEFAULT, OUT_OF_LINE = "raw_row", "raw_row_out_of_line"


async def prepare(pool: asyncpg.Pool) -> None:
    for table in (DEFAULT, OUT_OF_LINE):
        await pool.execute(f"CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY, content text)")
    await pool.execute(f"ALTER TABLE {OUT_OF_LINE} ALTER COLUMN content SET STORAGE EXTERNAL")


async def inserts(pool: asyncpg.Pool, table: str, text: str, tasks: int, seconds: float) -> float:
    """Rows per second, from `tasks` concurrent writers."""
    end = time.perf_counter() + seconds
    done = await asyncio.gather(*(_insert(pool, table, text, end) for _ in range(tasks)))
    await pool.execute(f"TRUNCATE {table}")
    return sum(done) / seconds


async def _insert(pool: asyncpg.Pool, table: str, text: str, end: float) -> int:
    count = 0
    while time.perf_counter() < end:
        await pool.execute(f"INSERT INTO {table} (content) VALUES ($1)", text)  # noqa: S608 (one of two constants)
        count += 1
    return count


async def commits(pool: asyncpg.Pool, count: int, rest: float = 0.0) -> list[float]:
    """Seconds of single small commits, each after `rest` seconds without load."""
    times = []
    for _ in range(count):
        await asyncio.sleep(rest)
        started = time.perf_counter()
        await pool.execute("INSERT INTO raw_row (content) VALUES ('x')")
        times.append(time.perf_counter() - started)
    return times
