"""Failed jobs whose model calls cost money. A few per period are free for the account, since models sometimes fail.

Further failed jobs are charged like successful ones. Otherwise an account could cause unlimited costs with requests
that a model always refuses.
"""

from __future__ import annotations

import asyncpg

from bookgen.billing.quota import Quota
from bookgen.store import usage

FREE_A_PERIOD = 10


async def count_free(connection: asyncpg.Connection, quota: Quota, account_id: int) -> bool:
    """Count a failed job as free, so that the account is not charged. Returns False if no free one is left."""
    period = await quota.period(connection, account_id)
    return await usage.spend_failed_job(connection, account_id, period.start, period.end, FREE_A_PERIOD)
