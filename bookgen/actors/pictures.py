"""The pictures of a children's book that is being written. Each picture is made, paid for and counted once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import asyncpg

from bookgen.actors.health import Dropped
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps, TextDropped
from bookgen.errors import UpstreamAIError
from bookgen.fault_points import fault
from bookgen.models import UNLIMITED, Allowance, Book, Chapter, Run
from bookgen.providers.images import PaidPicture
from bookgen.providers.text import CallBudget, CallsHalted, spent_before
from bookgen.store import books, illustrations, media, runs, subscriptions, usage
from bookgen.store import steps as stored
from bookgen.store.model_calls import Step
from bookgen.store.stored_files import NewFile
from bookgen.writing.material import Scene

STAGE = "illustration"
SHEET = "sheet"
Keep = Callable[[asyncpg.Connection, NewFile], Awaitable[None]]


class Pictures:
    """Makes the picture of a chapter (a spread of two pages) before the chapter's text is committed.

    Before the first picture, it makes the book's character sheet: a picture of the hero, which all other pictures
    follow.

    A picture, its cost and its use of the allowance are stored in one transaction, if this process still has the run.
    So if a process dies, only the call in flight has to be repeated.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def make(self, run: Run, steps: StoredSteps, book: Book, chapter: Chapter, scene: Scene) -> None:
        """Make the picture of `chapter`, unless it already has one.

        If the run rewrites the chapter, a picture from before this run is replaced. Raises UpstreamAIError if the image
        model fails, and CallsHalted after `steps.halt` is set.
        """
        pool, health = self._resources.pool, self._resources.health
        await steps.settle()
        key = _key(run, f"{STAGE} {chapter.id}")
        anew = chapter.rewrite_run == run.id

        async def is_there() -> bool:
            found = await stored.find(pool, book.id, key)
            return bool(found or (not anew and await illustrations.of_chapter(pool, chapter.id)))

        if await health.through_outages(is_there):
            return
        sheet = await self._sheet(run, steps, book)
        picture = await self._paint(
            steps,
            chapter.chapter_number,
            lambda budget: self._resources.painter.spread(book, chapter, scene, sheet, budget, steps.halt),
        )

        async def keep(connection: asyncpg.Connection, new: NewFile) -> None:
            if anew:
                await illustrations.clear(connection, chapter.id)
            await illustrations.add(
                connection,
                chapter.id,
                caption="",
                alt_text=scene.alt,
                prompt=scene.picture,
                image_key=await _add(connection, book.id, new, picture),
                position=0,
                width=picture.width,
                height=picture.height,
            )
            period = await self._resources.quota.period(connection, run.account_id)
            images = Allowance.AI_IMAGES
            await usage.spend(connection, run.account_id, period.start, period.end, images, UNLIMITED, 1)

        await self._keep(run, steps, key, picture, chapter.chapter_number, keep)

    async def _sheet(self, run: Run, steps: StoredSteps, book: Book) -> bytes:
        """Return the image file of the character sheet. If there is no sheet yet, make it first."""
        pool, health = self._resources.pool, self._resources.health

        async def find() -> bytes | None:
            sheet = await books.character_sheet(pool, book.id)
            return await self._resources.files.picture(pool, sheet) if sheet else None

        found = await health.through_outages(find)
        if found is not None:
            return found
        picture = await self._paint(steps, None, lambda budget: self._resources.painter.sheet(book, budget, steps.halt))

        async def keep(connection: asyncpg.Connection, new: NewFile) -> None:
            name = await _add(connection, book.id, new, picture)
            await books.set_character_sheet(connection, book.id, name)

        await self._keep(run, steps, _key(run, SHEET), picture, None, keep)
        return picture.data

    async def _paint(
        self, steps: StoredSteps, number: int | None, paint: Callable[[CallBudget | None], Awaitable[PaidPicture]]
    ) -> PaidPicture:
        await self._resources.health.wait()
        if steps.halt.is_set:
            raise CallsHalted(STAGE, number)
        await fault("picture.before", steps.scope.book_id)
        try:
            with steps.timed_call(picture=True):
                return await paint(steps.budget(STAGE, number))
        except UpstreamAIError as error:
            await steps.charge(steps.ledger_entry(STAGE, number, error.spent))
            if error.retryable:
                steps.failed = error  # the text is good; only its picture failed
                raise
            # Refused: a different text may lead to an acceptable picture.
            raise UpstreamAIError(str(error), stage=STAGE, retryable=True, chapter_number=number) from error
        except asyncio.CancelledError as cancelled:
            steps.charge(steps.ledger_entry(STAGE, number, spent_before(cancelled)))
            raise

    async def _keep(
        self, run: Run, steps: StoredSteps, key: str, picture: PaidPicture, number: int | None, keep: Keep
    ) -> None:
        """Store the picture and its cost, however long the database is unavailable.

        `key` identifies the picture in this run, so that a repeated call stores nothing. `number`: the picture's
        chapter; None for the character sheet. `keep`: writes the rows that refer to the picture, in the same
        transaction. Raises TextDropped if memory runs out, and CallsHalted if this process no longer has the run.
        """
        step = Step(key, {"text": ""}, steps.ledger_entry(STAGE, number, picture.paid))

        new: NewFile | None = None

        async def store() -> bool:
            nonlocal new
            if new is None:  # an earlier try has not stored it
                new = await self._resources.files.keep(self._resources.pool, picture.data)
            async with self._resources.pool.acquire() as connection, connection.transaction():
                if await stored.find(connection, run.book_id, key):
                    return True  # an earlier attempt was committed, and only its answer was lost
                await subscriptions.lock(connection, run.account_id)
                if not await runs.lock_as_ours(connection, run):
                    return False
                await fault("picture.store", run.book_id)
                await keep(connection, new)
                await stored.save(connection, step)
                return True

        health, backlog = self._resources.health, self._resources.backlog
        try:
            async with backlog.entry(len(picture.data)):
                kept = await health.through_outages(store, in_vain=backlog.make_room)
        except Dropped:
            await steps.charge(step.entry)
            steps.failed = TextDropped(STAGE, number)
            raise steps.failed from None
        except asyncio.CancelledError:
            steps.charge(step.entry)
            raise
        await fault("picture.after", run.book_id)
        if not kept:
            await steps.charge(step.entry)
            raise CallsHalted(STAGE, number)


async def _add(connection: asyncpg.Connection, book_id: int, new: NewFile, picture: PaidPicture) -> str:
    """Insert the row of a picture's file. Returns the picture's media key."""
    return await media.add(connection, book_id, new, picture.width, picture.height, picture.source)


def _key(run: Run, what: str) -> str:
    return hashlib.sha256(run.id.bytes + what.encode()).hexdigest()
