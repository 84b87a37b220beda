"""Totals over all accounts, for staff."""

from __future__ import annotations

from dataclasses import dataclass

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


USAGE_BY_MODEL = """
    SELECT model,
           count(*) AS calls,
           sum(input_tokens)::bigint AS input_tokens,
           sum(output_tokens)::bigint AS output_tokens,
           sum(cache_write_tokens)::bigint AS cache_write_tokens,
           sum(cache_read_tokens)::bigint AS cache_read_tokens,
           sum(images)::bigint AS images,
           coalesce(sum(cost_micros), 0)::bigint AS cost_micros,
           bool_or(cost_micros IS NULL) AS unknown_price
      FROM model_call
     GROUP BY model
     ORDER BY model
"""


async def usage_by_model(db: DB) -> list[ModelUsage]:
    """The total usage of each model since the beginning."""
    return [ModelUsage(row["model"], _usage(row)) for row in await db.fetch(USAGE_BY_MODEL)]
