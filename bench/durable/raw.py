"""The floor: one row, one commit, asyncpg."""

from __future__ import annotations

import asyncio
import time

import asyncpg


async def prepare(pool: asyncpg.Pool) -> None:
    await pool.execute("CREATE TABLE IF NOT EXISTS raw_row (id bigint GENERATED ALWAYS AS IDENTITY, content text)")
    await pool.execute("ALTER TABLE raw_row ALTER COLUMN content SET STORAGE EXTERNAL")


async def inserts(pool: asyncpg.Pool, text: str, tasks: int, seconds: float) -> float:
    """Rows a second, `tasks` at once."""
    end = time.perf_counter() + seconds
    done = await asyncio.gather(*(_insert(pool, text, end) for _ in range(tasks)))
    await pool.execute("TRUNCATE raw_row")
    return sum(done) / seconds


async def _insert(pool: asyncpg.Pool, text: str, end: float) -> int:
    count = 0
    while time.perf_counter() < end:
        await pool.execute("INSERT INTO raw_row (content) VALUES ($1)", text)
        count += 1
    return count


async def commits(pool: asyncpg.Pool, count: int) -> list[float]:
    """Seconds of one small commit."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        await pool.execute("INSERT INTO raw_row (content) VALUES ('x')")
        times.append(time.perf_counter() - started)
    return times
