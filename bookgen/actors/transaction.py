"""Changes of a run (the writing of a book), each in one transaction: everything that `decide` says, or nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID, uuid4
from weakref import WeakValueDictionary

import asyncpg

from bookgen import metrics
from bookgen.actors.material import count_outline
from bookgen.actors.messages import Command, Event, Generate, Resume
from bookgen.actors.resources import Deciding, Save
from bookgen.actors.run_transitions import FINISHED, Decision, Effect, decide, taken_by
from bookgen.billing import addons, edits, failed_jobs
from bookgen.billing.addons import AUTOMATED_PRODUCTION, CHILDRENS_BOOK
from bookgen.billing.images import require_images
from bookgen.billing.storage import require_room
from bookgen.errors import Conflict, NotFound, QuotaExceeded, Unavailable, busy_with, must_exist
from bookgen.fault_points import fault
from bookgen.models import Allowance, BookKind, BookStatus, FundingSource, Run, RunMode, RunPhase, RunStatus
from bookgen.store import (
    blurbs,
    book_state,
    books,
    chapters,
    covers,
    image_holds,
    jobs,
    material,
    notifications,
    reports,
    runs,
    slots,
    steps,
)
from bookgen.store.book_state import BookState

CONNECTIONS_OF_AN_ACCOUNT = 2
BOOK_STATUS = {
    RunStatus.QUEUED: BookStatus.GENERATING,
    RunStatus.RUNNING: BookStatus.GENERATING,
    RunStatus.PAUSED: BookStatus.GENERATING,
    RunStatus.COMPLETED: BookStatus.COMPLETED,
    RunStatus.STOPPED: BookStatus.OUTLINE,
    RunStatus.ERROR: BookStatus.OUTLINE,
}


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed run. `promoted`: the account's next run, if the commit has started it.

    The caller must tell the actor of the promoted run's book.
    """

    run: Run | None
    promoted: Run | None = None


class Transactions:
    """The transactions on runs. `steer` can be repeated: it recognizes a second try by its unique id, `op`."""

    def __init__(self, resources: Deciding) -> None:
        self._resources = resources
        self._of_account: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    async def steer(
        self, account_id: int, book_id: int, message: Command | Event, op: UUID, save: Save | None = None
    ) -> Committed:
        """Decide about a message under the locks of the book's run, and write the decision and what `save` writes.

        If a call with the same `op` was committed before, nothing changes. Raises NotFound for a command about a
        deleted book; an event about a deleted book is ignored.
        """
        try:
            return await self._steer(account_id, book_id, message, op, save)
        except NotFound:
            if isinstance(message, Command):
                raise
            return Committed(None)

    async def _steer(
        self, account_id: int, book_id: int, message: Command | Event, op: UUID, save: Save | None
    ) -> Committed:
        point = type(message).__name__.lower()
        async with self.locked(account_id, book_id) as (connection, state):
            if state.run and state.run.last_op == op:
                return Committed(state.run)
            if state.job and isinstance(message, Generate | Resume):
                raise busy_with(state.job)
            decision = decide(state, message, self._fresh(account_id, book_id))
            committed = await self._carry_out(connection, state, decision, op)
            if save and Effect.SAVE in decision.effects:
                await save(connection)
            await fault(f"{point}.before", book_id)
        await fault(f"{point}.after", book_id)
        if state.run and state.run.status.active and committed.run and not committed.run.status.active:
            failure = committed.run.failure or {}
            metrics.RUNS_ENDED.labels(str(committed.run.status), failure.get("code", "")).inc()
        if Effect.ENQUEUE_BLURB in decision.effects:
            self._resources.blurb_queued.set()
        return committed

    async def promote(self, account_id: int) -> Run | None:
        """Start the account's next queued run, unless the account has a run in progress. Returns the run or None."""
        async with self._connection(account_id) as connection:
            await slots.lock(connection, account_id)
            return await self._promote(connection, account_id)

    async def promote_unless_locked(self, account_id: int) -> Run | None:
        """Like `promote`, but do nothing if another transaction holds the account's lock."""
        async with self._connection(account_id) as connection:
            return await self._promote(connection, account_id) if await slots.try_lock(connection, account_id) else None

    async def delete_book(self, account_id: int, book_id: int) -> None:
        async with self.locked(account_id, book_id, every_run=True) as (connection, state):
            if state.run and state.run.status.active:
                raise Conflict(
                    "A run of this book started while you were deleting the book, so the book was not deleted. Repeat "
                    "the call (DELETE /books/{id}/)."
                )
            with contextlib.suppress(QuotaExceeded):  # the allowance is used up, which must not prevent the deletion
                await self.count_job(connection, account_id, book_id, state.job)
                if await reports.begun_of_book(connection, book_id):
                    await self._resources.quota.spend(connection, account_id, Allowance.PROOFREADING_CHECKS)
            await material.delete_book(connection, account_id, book_id)

    async def count_job(self, connection: asyncpg.Connection, account_id: int, book_id: int, job: str | None) -> None:
        """Count a job against the account's allowance as if it had succeeded, because its calls were paid for.

        Used for a job that failed or whose book is deleted. `job`: "outline" or "chapter"; other values count nothing.
        Raises QuotaExceeded if other work has used up the allowance in the meantime.
        """
        if job == "outline":
            await count_outline(self._resources, connection, account_id, book_id)
        elif job == "chapter":
            await edits.spend(
                connection, self._resources.quota, account_id, await jobs.reserved_edits(connection, book_id)
            )

    @contextlib.asynccontextmanager
    async def locked(
        self, account_id: int, book_id: int, *, every_run: bool = False
    ) -> AsyncIterator[tuple[asyncpg.Connection, BookState]]:
        """A context manager with a transaction that holds the locks of the account's book.

        `every_run`: lock all runs of the book, too. Raises NotFound if the account has no such book.
        """
        seconds = self._resources.call_seconds
        async with self._connection(account_id) as connection:
            state = await book_state.lock(connection, account_id, book_id, seconds, every_run=every_run)
            yield connection, must_exist(state)

    @contextlib.asynccontextmanager
    async def _connection(self, account_id: int) -> AsyncIterator[asyncpg.Connection]:
        """A context manager with a transaction for the account.

        An account has only a few transactions at a time, so that it does not hold up other accounts.
        """
        of_account = self._of_account.get(account_id)
        if of_account is None:
            of_account = self._of_account[account_id] = asyncio.Semaphore(CONNECTIONS_OF_AN_ACCOUNT)
        async with of_account, self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
            yield connection

    async def _carry_out(
        self, connection: asyncpg.Connection, state: BookState, decision: Decision, op: UUID
    ) -> Committed:
        if decision.run is None or (decision.run == state.run and not decision.effects):
            return Committed(state.run)
        effects = decision.effects
        run = replace(self._with_owner(state, decision.run), last_op=op)
        if Effect.INSERT in effects:
            run = await runs.insert(connection, run)
            if state.run and _inherits_draft(state.run, effects):
                await steps.forget_finished(connection, state.run.id, state.run.current_chapter)
                run = await runs.inherit(connection, run, state.run)
            elif state.run:
                await steps.forget(connection, state.run.id)
        else:
            run = await runs.save(connection, run, to_tail=Effect.TO_TAIL in effects)
        if decision.words_lost:
            await self._count_failed(connection, run, decision.words_lost)
        await self._settle_quota(connection, state, run, effects)
        await self._settle_rows(connection, state, run, effects)
        if run.owner not in (None, self._resources.boot_id) or not self._resources.writes_runs:
            await notifications.notify(connection, run.book_id)
        if not self._resources.writes_runs and (Effect.PROMOTE in effects or run.status is RunStatus.RUNNING):
            await notifications.notify_waiting(connection)
        promoted = await self._promote(connection, run.account_id) if Effect.PROMOTE in effects else None
        return Committed(run, promoted)

    async def _settle_quota(
        self, connection: asyncpg.Connection, state: BookState, run: Run, effects: frozenset[Effect]
    ) -> None:
        quota, source = self._resources.quota, None
        if Effect.HOLD in effects:
            source = await self._hold(connection, state, run, refuses=Effect.REFUSE_FINISHED in effects)
        if not run.status.active and (words := await runs.count_words(connection, run.id)):
            await quota.count_words(connection, run.account_id, words)
        if Effect.CONSUME in effects:
            await quota.consume_book(connection, run.account_id, run.book_id, run.id, run.words_written)
            await addons.count_use(connection, quota, run.id)
        if Effect.RELEASE in effects:
            wrote = await self._keeps_hold(connection, state, run)
            await quota.release_book(connection, run.book_id, wrote=wrote)
            await addons.release_use(connection, quota, run.account_id, run.id)
            await image_holds.remove(connection, run.account_id, run.id)
        if source or state.run is None or BOOK_STATUS[state.run.status] is not BOOK_STATUS[run.status]:
            await self._set_book_status(connection, state, run, source)

    async def _count_failed(self, connection: asyncpg.Connection, run: Run, words: int) -> None:
        """Count the words that failed calls asked for as words of the run. A period's first few failures are free.

        If failures were always free, a book that a model always refuses would cost its author nothing.
        """
        quota = self._resources.quota
        if quota.billing and not await failed_jobs.count_free(connection, quota, run.account_id):
            await runs.count_failed(connection, run.id, words)

    async def _keeps_hold(self, connection: asyncpg.Connection, state: BookState, run: Run) -> bool:
        """Whether the hold of an ended run (the allowance or credit set aside for it) stays with the book.

        It stays if runs of the book have written chapters or made paid calls since the book was last completed. It also
        stays if the run was stopped during a call, because the cost of this call may not be recorded yet. The first few
        such stops of a billing period are free; without a limit, an author could stop any number of drafts during their
        first call and pay nothing.
        """
        if state.wrote or run.status is not RunStatus.STOPPED or state.run is None or not state.run.call_started_at:
            return state.wrote
        quota = self._resources.quota
        return quota.billing and not await failed_jobs.count_free(connection, quota, run.account_id)

    async def _hold(
        self, connection: asyncpg.Connection, state: BookState, run: Run, *, refuses: bool
    ) -> FundingSource:
        """Set aside the allowance or credit that pays for the run, and return which of the two it is.

        Raises PlanUpgradeRequired if the plan does not include the run, and QuotaExceeded if too little is left for it.
        `refuses`: the book is finished, so a production of it raises Conflict. If the account also lacks the add-on for
        productions, PlanUpgradeRequired is raised instead.
        """
        quota, images = self._resources.quota, 0
        standing = await quota.standing(connection, run.account_id)
        if run.mode is RunMode.AUTOMATED:
            await addons.hold_use(connection, quota, standing, AUTOMATED_PRODUCTION, run.id, run.book_id)
            if refuses:
                raise Conflict(FINISHED)
            images += run.makes_cover and await covers.selected(connection, run.book_id) is None
        if state.kind is BookKind.CHILDRENS:
            await addons.hold_use(connection, quota, standing, CHILDRENS_BOOK, run.id, run.book_id)
            images += state.todo or state.chapters  # if all chapters are written, all are rewritten
        if images:
            await require_images(connection, quota, standing, run.book_id, images)
        await require_room(connection, quota, standing)
        return await quota.hold_book(connection, standing, run.book_id, run.id, state.target_word_count)

    async def _set_book_status(
        self, connection: asyncpg.Connection, state: BookState, run: Run, source: FundingSource | None
    ) -> None:
        status = BOOK_STATUS[run.status]
        if status is BookStatus.OUTLINE and not state.chapters:
            status = BookStatus.DRAFT
        # The files of a production show the book's last change, so nothing may change the book after them.
        touch = run.phase is not RunPhase.FILES
        await books.set_status(connection, run.book_id, status, source, touch=touch)

    async def _settle_rows(
        self, connection: asyncpg.Connection, state: BookState, run: Run, effects: frozenset[Effect]
    ) -> None:
        failed: int | None = run.failure["chapter_number"] if run.failure else None
        if Effect.HOLD in effects and state.job_row:
            await jobs.cancel(connection, run.book_id)
        if Effect.REWRITE in effects:
            await chapters.mark_for_rewrite(connection, run.book_id, run.id)
        if Effect.END_WRITING in effects:
            await chapters.end_writing(connection, run.book_id, failed)
        if Effect.CLOSE_STEPS in effects and run.status is RunStatus.STOPPED:
            await steps.forget_finished(connection, run.id, run.current_chapter)
        elif Effect.CLOSE_STEPS in effects:
            await steps.forget(connection, run.id)
        if Effect.ENQUEUE_BLURB in effects:
            await blurbs.enqueue(connection, run.book_id)
        if Effect.FORGET_STEPS in effects:
            await steps.forget(connection, run.id, failed)
            await runs.forget_draft(connection, run.id)

    async def _promote(self, connection: asyncpg.Connection, account_id: int) -> Run | None:
        resources = self._resources
        if not resources.takes_runs or resources.awaits_operator:  # the next sweep does it
            return None
        return await runs.promote(connection, account_id, resources.boot_id, resources.call_seconds)

    def _with_owner(self, state: BookState, run: Run) -> Run:
        """Return the run, with this process as its owner if the run now starts or continues.

        The owner stays if its call for this run is still in flight, in this process or in another living one. There is
        no owner if this process takes no runs, or if the database is a restored copy whose runs wait for the operator.
        Raises Unavailable while this process has no lease, because other processes would take the run at once.
        """
        before = state.run
        if run.status is not RunStatus.RUNNING or (before and before.status is RunStatus.RUNNING):
            return run
        in_flight = run.call_started_at is not None
        if in_flight and (run.owner == self._resources.boot_id or state.owner_alive):
            return run
        if not self._resources.writes_runs or self._resources.awaits_operator:
            return replace(taken_by(run, self._resources.boot_id), owner=None)
        if not self._resources.takes_runs:
            raise Unavailable
        return taken_by(run, self._resources.boot_id)

    def _fresh(self, account_id: int, book_id: int) -> Run:
        now = datetime.now(UTC)
        return Run(
            id=uuid4(),
            book_id=book_id,
            account_id=account_id,
            status=RunStatus.QUEUED,
            mode=RunMode.FULL,
            total=0,
            done=0,
            call_no=0,
            epoch=0,
            owner=None,
            crash_count=0,
            queue_seq=0,
            current_chapter=None,
            words_written=0,
            failure=None,
            last_op=None,
            started_at=now,
            updated_at=now,
            finished_at=None,
        )


def _inherits_draft(former: Run, effects: frozenset[Effect]) -> bool:
    """Whether a new run uses the stored parts of the chapter that the previous run left unfinished."""
    return former.status in (RunStatus.STOPPED, RunStatus.ERROR) and Effect.REWRITE not in effects
