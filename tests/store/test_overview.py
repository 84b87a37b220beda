"""The usage in the staff overview: the same sums whichever calls were added up before, without reading them again."""

from __future__ import annotations

import asyncio
import json

import asyncpg

from bookgen.models import Usage
from bookgen.store import overview
from bookgen.store.overview import ModelUsage
from tests.http.test_metrics import nodes_of

CALL = """
    INSERT INTO model_call (stage, model, input_tokens, output_tokens, cache_write_tokens, cache_read_tokens, images,
                            cost_micros, created_at)
    SELECT 'chapter', model, 10, 20, 3, 4, 1, cost, now() - age * interval '1 hour'
      FROM unnest($1::text[], $2::bigint[], $3::integer[]) AS call (model, cost, age)
"""
PAST = "SELECT model, calls FROM past_usage ORDER BY model"
MANY = "INSERT INTO model_call (stage, model, created_at) SELECT 'chapter', 'one', $1 FROM generate_series(1, 20000)"


def usage(calls: int, cost: int, *, unknown_price: bool = False) -> Usage:
    return Usage(calls, 10 * calls, 20 * calls, 3 * calls, 4 * calls, calls, cost, unknown_price)


async def test_the_usage_is_the_same_before_and_after_old_calls_are_added_up(pool: asyncpg.Pool) -> None:
    await pool.execute(CALL, ["one", "one", "two"], [500, 50, None], [49, 30, 25])
    await overview.add_past_usage(pool)
    await pool.execute(CALL, ["one", "three", "one"], [5, 7, None], [49, 25, 23])
    expected = [
        ModelUsage("one", usage(4, 555, unknown_price=True)),
        ModelUsage("three", usage(1, 7)),
        ModelUsage("two", usage(1, 0, unknown_price=True)),
    ]
    assert await overview.usage_by_model(pool) == expected

    await asyncio.gather(*(overview.add_past_usage(pool) for _ in range(4)))
    await overview.add_past_usage(pool)

    assert await overview.usage_by_model(pool) == expected
    assert [tuple(row) for row in await pool.fetch(PAST)] == [("one", 3), ("three", 1), ("two", 1)]


async def test_the_usage_is_read_without_a_scan_of_the_ledger(pool: asyncpg.Pool) -> None:
    await pool.execute(MANY, await pool.fetchval("SELECT now() - interval '3 days'"))
    await pool.execute("ANALYZE model_call")
    await overview.add_past_usage(pool)

    plan = await pool.fetchval(f"EXPLAIN (FORMAT JSON) {overview.USAGE_BY_MODEL}")

    scanned = {node["Node Type"] for node in nodes_of(json.loads(plan)[0]["Plan"]) if reads_ledger(node)}
    assert scanned == {"Index Scan"}


def reads_ledger(node: dict[str, str]) -> bool:
    return node.get("Relation Name") == "model_call"
