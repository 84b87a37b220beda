"""Reconciles payments each night: compares our rows with the payment processor and repairs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import asyncpg
import structlog

from bookgen.billing.reconciliation import Reconciliation
from bookgen.errors import Unavailable
from bookgen.store import reconciliation

HOUR = 3  # UTC
LOOK_EVERY_SECONDS = 600.0
# If the process dies or cannot reach the processor, another one may try after this time.
LEASE = timedelta(hours=3)
PURCHASES_OF = timedelta(days=90)

log = structlog.get_logger()


class NightlyReconcile:
    """Reconciles payments in a loop. Every process runs the loop, but each night only one process does the work."""

    def __init__(self, db: asyncpg.Pool, reconciliation: Reconciliation, clock: Callable[[], datetime]) -> None:
        self._db = db
        self._reconciliation = reconciliation
        self._clock = clock

    async def run(self) -> None:
        """Reconcile payments each night, until cancelled."""
        while True:
            try:
                await self.reconcile_if_due()
            except Unavailable as outage:
                log.warning("payments_not_reconciled", reason=str(outage))
            except Exception:
                log.exception(
                    "payments_not_reconciled",
                    to_do="Payments are reconciled again within about three hours. If this repeats, report the "
                    "traceback as a bug.",
                )
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def reconcile_if_due(self) -> bool:
        """Repair and log all differences, unless tonight's work is done or claimed. Returns whether this did it."""
        now = self._clock()
        if not await reconciliation.claim(self._db, now, LEASE):
            return False
        differences = 0
        async for difference in self._reconciliation.reconcile(mend=True, since=PURCHASES_OF, now=now):
            log.warning(
                "payment_reconciled",
                difference=difference,
                to_do="Nothing if the difference was repaired. If `difference` says skipped, remove the cause that it "
                "names. If this repeats every night, run: bookgen payments sync",
            )
            differences += 1
        await reconciliation.plan(self._db, next_night(now))
        log.info("payments_reconciled", differences=differences)
        return True


def next_night(now: datetime) -> datetime:
    """The first time after `now` when it is `HOUR` o'clock in UTC."""
    tonight = now.replace(hour=HOUR, minute=0, second=0, microsecond=0)
    return tonight if tonight > now else tonight + timedelta(days=1)
