"""The image allowance. Images are reserved (held) while they are being made, and then counted or given back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import asyncpg

from bookgen.billing.periods import Period
from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing
from bookgen.errors import NotFound, PlanUpgradeRequired
from bookgen.models import UNLIMITED, Allowance
from bookgen.store import image_holds, subscriptions, usage
from bookgen.store.database import DB, Database

MAX_HOLD_SECONDS = 1800.0  # an older hold was left by a process that died


class HeldImages:
    """A number of images of the account's allowance, reserved for one request. The reservation is called a hold."""

    def __init__(self, hold_id: UUID, account_id: int, period: Period) -> None:
        self._id, self._account_id, self._period = hold_id, account_id, period

    async def consume(self, connection: DB, images: int) -> None:
        """Count the images that were made and end the hold. Call it in the transaction that stores the images."""
        start, end = self._period.start, self._period.end
        await subscriptions.lock(connection, self._account_id)
        await usage.spend(connection, self._account_id, start, end, Allowance.AI_IMAGES, UNLIMITED, images)
        await self.give_back(connection)

    @asynccontextmanager
    async def storing(self, connection: asyncpg.Connection, images: int) -> AsyncIterator[None]:
        """A context with a transaction, in which the caller stores the images and calls `consume`.

        If the book is gone, or if storing the images would exceed the plan's storage, the images are counted anyway,
        because making them has cost money.
        """
        try:
            async with connection.transaction():
                yield
        except (NotFound, PlanUpgradeRequired):
            await self.consume(connection, images)
            raise

    async def give_back(self, db: DB) -> None:
        """End the hold, so that other requests can use the images."""
        await image_holds.remove(db, self._account_id, self._id)


async def require_images(connection: DB, quota: Quota, standing: Standing, book_id: int, images: int) -> None:
    """Raise QuotaExceeded if too few images are left for a run (the writing of the book) with this many pictures.

    Images that an active run of this book still has to make are not counted as used. Reserves nothing.
    """
    taken = await image_holds.held(connection, standing.account_id, standing.period.start, but_of=book_id)
    await quota.require(connection, standing, Allowance.AI_IMAGES, in_flight=taken, amount=images)


@asynccontextmanager
async def held_images(database: Database, quota: Quota, account_id: int, images: int) -> AsyncIterator[HeldImages]:
    """A context that reserves this many images. If the block fails, they are given back; otherwise call `consume`.

    Raises QuotaExceeded if too few images are left.
    """
    held = await hold_images(database, quota, account_id, images, uuid4())
    try:
        yield held
    except BaseException:
        await held.give_back(database.http)
        raise


async def hold_images(database: Database, quota: Quota, account_id: int, images: int, hold_id: UUID) -> HeldImages:
    """Reserve this many images. Raises QuotaExceeded if too few are left.

    A hold with the same id, which a crashed process may have left, is replaced.
    """
    async with database.http.acquire() as connection, connection.transaction():
        await subscriptions.lock(connection, account_id)
        await image_holds.remove(connection, account_id, hold_id)
        standing = await quota.standing(connection, account_id)
        period = standing.period
        taken = await image_holds.held(connection, account_id, period.start)
        await quota.require(connection, standing, Allowance.AI_IMAGES, in_flight=taken, amount=images)
        await image_holds.add(connection, hold_id, account_id, images, period.start, period.end, MAX_HOLD_SECONDS)
    return HeldImages(hold_id, account_id, period)
