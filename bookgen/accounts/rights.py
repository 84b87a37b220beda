"""The rights of accounts (blocked, staff, valid tokens), cached for a few seconds."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from bookgen.errors import Unavailable
from bookgen.store import accounts
from bookgen.store.accounts import Rights
from bookgen.store.database import DB

REMEMBERED_SECONDS = 5.0
REMEMBERED_ACCOUNTS = 50_000
RENEWED_SECONDS = 60.0  # after the last call: many poll less often than every REMEMBERED_SECONDS
MAX_READS = 500  # accounts read in one statement
LOOK_EVERY_SECONDS = 2.0
LOOK_BACK = timedelta(minutes=2)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class RememberedRights:
    """The cached rights of an account, when the cache entry expires, and when the account last made a request."""

    rights: Rights
    until: float
    called_at: float


class RightsCache:
    """Caches the rights of accounts that recently made a request, for at most REMEMBERED_SECONDS.

    The operator's command that blocks an account runs in another process. `watch` therefore reads new blocks from the
    database. It also refreshes the rights of active accounts before they expire, hundreds in one statement. So an
    account that polls causes no query of its own.
    """

    def __init__(self, db: DB, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._known: OrderedDict[int, RememberedRights] = OrderedDict()
        self._forgotten = 0

    async def of(self, account_id: int) -> Rights | None:
        return self.known(account_id) or await self._look_up(account_id)

    def known(self, account_id: int) -> Rights | None:
        """The cached rights; None if no rights are cached or they have expired.

        Records that the account made a request.
        """
        known, now = self._known.get(account_id), self._clock()
        if known is None or known.until <= now:
            return None
        known.called_at = now
        return known.rights

    def forget(self, account_id: int) -> None:
        self._known.pop(account_id, None)
        self._forgotten += 1

    async def watch(self, on_blocked: Callable[[int], Awaitable[None]]) -> None:
        """Look for blocked accounts and refresh the cache, until cancelled. Errors are logged, and the loop continues.

        `on_blocked` is called with the id of each blocked account that still has books being written.
        """
        while True:
            try:
                await self.look(on_blocked)
                await self.renew()
            except Unavailable as outage:
                log.warning("blocked_accounts_not_read", reason=str(outage))
            except Exception:
                log.exception(
                    "blocked_accounts_not_read",
                    to_do="The list of blocked accounts is read again in 2 seconds. If this repeats, report the "
                    "traceback as a bug.",
                )
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self, on_blocked: Callable[[int], Awaitable[None]]) -> None:
        """Drop recently blocked accounts from the cache, and find blocked accounts that still have books being written.

        Calls `on_blocked` with the id of each of these accounts.
        """
        for account_id in await accounts.blocked_within(self._db, LOOK_BACK):
            self.forget(account_id)
        for account_id in await accounts.blocked_with_runs(self._db):
            await on_blocked(account_id)

    async def renew(self) -> None:
        """Refresh cached rights that expire soon, for accounts that made a request in the last RENEWED_SECONDS."""
        now = self._clock()
        old = [
            (account_id, known)
            for account_id, known in self._known.items()
            if known.until < now + 2 * LOOK_EVERY_SECONDS and known.called_at > now - RENEWED_SECONDS
        ]
        for start in range(0, len(old), MAX_READS):
            batch, now = old[start : start + MAX_READS], self._clock()
            found = await accounts.rights_of_many(self._db, [account_id for account_id, _ in batch])
            for account_id, known in batch:
                if rights := found.get(account_id):
                    # Entries that were forgotten in the meantime are not in the cache, so this has no effect on them.
                    known.rights, known.until = rights, now + REMEMBERED_SECONDS

    async def _look_up(self, account_id: int) -> Rights | None:
        forgotten, now = self._forgotten, self._clock()
        rights = await accounts.rights(self._db, account_id)
        # A row that was read before an account was blocked must not be cached after that.
        if rights is not None and forgotten == self._forgotten:
            self._known[account_id] = RememberedRights(rights, now + REMEMBERED_SECONDS, now)
            self._known.move_to_end(account_id)
            if len(self._known) > REMEMBERED_ACCOUNTS:
                self._known.popitem(last=False)
        return rights
