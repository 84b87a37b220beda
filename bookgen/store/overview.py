"""Totals over all accounts, for staff."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from bookgen.models import Usage
from bookgen.store.database import DB
from bookgen.store.rows import mapper

_usage = mapper(Usage)

ACCOUNTS = "SELECT count(*) AS total, count(blocked_at) AS blocked FROM account"


async def accounts(db: DB) -> dict[str, int]:
    return dict(await db.fetchrow(ACCOUNTS))


BOOKS_BY_STATUS = "SELECT status, count(*) AS number FROM book GROUP BY status"


async def books_by_status(db: DB) -> dict[str, int]:
    return {row["status"]: row["number"] for row in await db.fetch(BOOKS_BY_STATUS)}


RUNS_BY_STATUS = "SELECT status, count(*) AS number FROM run GROUP BY status"


async def runs_by_status(db: DB) -> dict[str, int]:
    return {row["status"]: row["number"] for row in await db.fetch(RUNS_BY_STATUS)}


@dataclass(frozen=True, slots=True)
class ModelUsage:
    model: str
    usage: Usage


SUMS = """
           count(*) AS calls,
           sum(input_tokens)::bigint AS input_tokens,
           sum(output_tokens)::bigint AS output_tokens,
           sum(cache_write_tokens)::bigint AS cache_write_tokens,
           sum(cache_read_tokens)::bigint AS cache_read_tokens,
           sum(images)::bigint AS images,
           coalesce(sum(cost_micros), 0)::bigint AS cost_micros,
           bool_or(cost_micros IS NULL) AS unknown_price"""

USAGE_BY_MODEL = f"""
    SELECT model,
           sum(calls)::bigint AS calls,
           sum(input_tokens)::bigint AS input_tokens,
           sum(output_tokens)::bigint AS output_tokens,
           sum(cache_write_tokens)::bigint AS cache_write_tokens,
           sum(cache_read_tokens)::bigint AS cache_read_tokens,
           sum(images)::bigint AS images,
           sum(cost_micros)::bigint AS cost_micros,
           bool_or(unknown_price) AS unknown_price
      FROM (SELECT * FROM past_usage
            UNION ALL
            SELECT model, {SUMS}
              FROM model_call WHERE id > (SELECT last_id FROM past_usage_end)
             GROUP BY model) AS part
     GROUP BY model
     ORDER BY model
"""


async def usage_by_model(db: DB) -> list[ModelUsage]:
    """The total usage of each model since the beginning."""
    return [ModelUsage(row["model"], _usage(row)) for row in await db.fetch(USAGE_BY_MODEL)]


# No row unless a call older than two days is not in the sums yet. So ADD_PAST, which reads all calls of the last day to
# find where they begin, runs about once a day.
PAST_END = """
    SELECT last_id FROM past_usage_end
     WHERE (SELECT created_at FROM model_call WHERE id > last_id ORDER BY id LIMIT 1) < now() - interval '2 days'
       FOR UPDATE SKIP LOCKED
"""
ADD_PAST = f"""
    WITH newest AS (
        SELECT id FROM model_call WHERE created_at < now() - interval '1 day' ORDER BY id DESC LIMIT 1
    ), moved AS (UPDATE past_usage_end SET last_id = id FROM newest)
    INSERT INTO past_usage AS past
    SELECT model, {SUMS}
      FROM model_call WHERE id > $1 AND id <= (SELECT id FROM newest)
     GROUP BY model
    ON CONFLICT (model) DO UPDATE
       SET calls = past.calls + excluded.calls,
           input_tokens = past.input_tokens + excluded.input_tokens,
           output_tokens = past.output_tokens + excluded.output_tokens,
           cache_write_tokens = past.cache_write_tokens + excluded.cache_write_tokens,
           cache_read_tokens = past.cache_read_tokens + excluded.cache_read_tokens,
           images = past.images + excluded.images,
           cost_micros = past.cost_micros + excluded.cost_micros,
           unknown_price = past.unknown_price OR excluded.unknown_price
"""


async def add_past_usage(pool: asyncpg.Pool) -> None:
    """Add the model calls older than a day to the stored sums of usage, about once a day.

    Does nothing if another process is adding them now.
    """
    async with pool.acquire() as connection, connection.transaction():
        last_id = await connection.fetchval(PAST_END)
        if last_id is not None:
            await connection.execute(ADD_PAST, last_id)
