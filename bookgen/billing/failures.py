"""Model work outside runs that fails although calls of it are paid for, as of what a model always refuses to write."""

from __future__ import annotations

import asyncpg

from bookgen.billing.quota import Quota
from bookgen.store import usage

FREE = 10  # a period: models do fail by themselves now and then


async def is_free(connection: asyncpg.Connection, quota: Quota, account_id: int) -> bool:
    """Whether one more counts as nothing. Counts it."""
    period = await quota.period(connection, account_id)
    return await usage.spend_failed_jobs(connection, account_id, period.start, period.end, FREE, 1)
