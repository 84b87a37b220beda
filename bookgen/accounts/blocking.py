"""Whether an account may still call, remembered for a few seconds."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from bookgen.errors import Unavailable
from bookgen.store import accounts
from bookgen.store.accounts import Rights
from bookgen.store.database import DB

REMEMBERED_SECONDS = 20.0
REMEMBERED_ACCOUNTS = 50_000
LOOK_EVERY_SECONDS = 5.0
LOOK_BACK = timedelta(minutes=2)

log = structlog.get_logger(__name__)


class RightsCache:
    """The rights of accounts that called lately, at most REMEMBERED_SECONDS old.

    A block comes from the operator's command, which is another process: `watch` finds it, and the runs that a
    blocked account still has, whoever started them.
    """

    def __init__(self, db: DB, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._known: OrderedDict[int, tuple[float, Rights]] = OrderedDict()
        self._forgotten = 0

    async def of(self, account_id: int) -> Rights | None:
        return self.known(account_id) or await self._look_up(account_id)

    def known(self, account_id: int) -> Rights | None:
        """What is remembered, and not too old."""
        known = self._known.get(account_id)
        return known[1] if known is not None and known[0] > self._clock() else None

    def forget(self, account_id: int) -> None:
        self._known.pop(account_id, None)
        self._forgotten += 1

    async def watch(self, on_blocked: Callable[[int], Awaitable[None]]) -> None:
        """Looks for blocks until it is cancelled; no failure ends it."""
        while True:
            try:
                await self.look(on_blocked)
            except Unavailable as outage:
                log.warning("blocked_accounts_not_read", reason=str(outage))
            except Exception:
                log.exception("blocked_accounts_not_read")
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self, on_blocked: Callable[[int], Awaitable[None]]) -> None:
        """Heeds the blocks of late, and tells of blocked accounts that have active runs."""
        for account_id in await accounts.blocked_within(self._db, LOOK_BACK):
            self.forget(account_id)
        for account_id in await accounts.blocked_with_runs(self._db):
            await on_blocked(account_id)

    async def _look_up(self, account_id: int) -> Rights | None:
        forgotten = self._forgotten
        rights = await accounts.rights(self._db, account_id)
        # A row read before somebody was blocked must not be remembered after it.
        if rights is not None and forgotten == self._forgotten:
            self._known[account_id] = (self._clock() + REMEMBERED_SECONDS, rights)
            self._known.move_to_end(account_id)
            if len(self._known) > REMEMBERED_ACCOUNTS:
                self._known.popitem(last=False)
        return rights
