"""Drafts the blurbs (the texts on the back cover) of finished books in the background, after their runs have completed.

The transaction that completes a run inserts a row into `blurb_draft`. A process claims the row, asks the model and
stores the blurb. If the process dies, another process claims the row, and uses the replies that were already stored and
paid for. Nothing waits for a blurb, so failures are only logged. After too many failures (at most MAX_TRIES), the book
stays without a blurb.
"""

from __future__ import annotations

import asyncio
import contextlib
from uuid import UUID

import structlog

from bookgen.actors.actor import spawn
from bookgen.actors.material import load_material, note_rest
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StepScope, StoredSteps
from bookgen.errors import NotFound, Unavailable, UpstreamAIError
from bookgen.fault_points import fault
from bookgen.providers.text import CallsHalted, PromptTooLong
from bookgen.store import blurbs
from bookgen.store.blurbs import ClaimedBlurb
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.structured import UnusableReply

log = structlog.get_logger()

LOOK_SECONDS = 5.0
MAX_AT_ONCE = 2  # in this process
MAX_TRIES = 6
MAX_UNUSABLE_TRIES = 2  # each of them was paid for
FIRST_DELAY_SECONDS = 60.0  # before the second try, then four times as long each time: nearly six hours in total
HOPELESS = (ModelRefused, PromptTooLong)
SAMPLE_MODEL = "offline"


async def draft_blurb(resources: Resources, account_id: int, book_id: int, steps: StoredSteps) -> str:
    """Have the model draft a blurb and return it; empty if the book already has one.

    The blurb needs a digest (summary, facts and plot threads) of each chapter. Missing digests, usually only the last
    chapter's, are made first. Paid calls are recorded even if the blurb fails.

    Raises NotFound if the book is gone, CallsHalted after `steps.halt` is set, and UpstreamAIError if a call fails.
    """
    await note_rest(resources, account_id, book_id, steps)
    material = await resources.health.through_outages(lambda: load_material(resources.pool, account_id, book_id))
    if material.book.blurb:
        return ""
    try:
        return await resources.writing.draft_blurb(material, steps)
    finally:
        await steps.settle()


class Blurbs:
    """Drafts blurbs in the background. A production (a run that makes a whole book) drafts its blurb itself."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._steps: dict[int, StoredSteps] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look for finished books that need a blurb, and draft it, until cancelled.

        It looks as soon as a run completes in this process, and every few seconds.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._resources.blurb_queued.wait()
            self._resources.blurb_queued.clear()
            try:
                await self._claim()
            except Unavailable as error:
                self._resources.health.saw(error)
            except Exception:
                log.exception(
                    "blurbs_not_claimed",
                    what="The service could not look for books that need a blurb.",
                    to_do="The service tries again in 5 seconds. If this repeats, report the traceback as a bug.",
                )

    def halt(self) -> None:
        """Make no further model call. Calls in flight may finish."""
        for steps in self._steps.values():
            steps.halt.set()

    async def _claim(self) -> None:
        resources = self._resources
        while len(self.tasks) < MAX_AT_ONCE and resources.begins_work:
            owner, sample = resources.boot_id, resources.model.name == SAMPLE_MODEL
            claimed = await blurbs.claim(resources.pool, owner, list(self._steps), sample=sample)
            if claimed is None:
                return
            scope = StepScope(claimed.account_id, claimed.book_id, claimed.task, claimed.task)
            steps = self._steps[claimed.book_id] = StoredSteps(resources, scope, replay=True)
            if resources.draining:  # draining has started since the claim
                steps.halt.set()
            task = spawn(self._draft(claimed, owner, steps))
            self.tasks.add(task)
            task.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._resources.blurb_queued.set()

    async def _draft(self, claimed: ClaimedBlurb, owner: UUID, steps: StoredSteps) -> None:
        pool, through_outages = self._resources.pool, self._resources.health.through_outages
        try:
            if claimed.tries > MAX_TRIES:
                raise RuntimeError(f"the blurb was claimed more than {MAX_TRIES} times without a result")
            await fault("blurb_draft.begun", claimed.book_id)
            blurb = await draft_blurb(self._resources, claimed.account_id, claimed.book_id, steps)
            await fault("blurb_draft.drafted", claimed.book_id)
            await through_outages(lambda: blurbs.finish(pool, claimed, owner, blurb))
        except (CallsHalted, NotFound):
            pass  # left to another process, or the book is deleted
        except UpstreamAIError as error:
            await self._failed(claimed, owner, error)
        except Exception:
            log.exception(
                "blurb_crashed",
                book_id=claimed.book_id,
                to_do="The book stays without a blurb until its author writes one. Report the traceback as a bug.",
            )
            await through_outages(lambda: blurbs.finish(pool, claimed, owner))
        finally:
            self._steps.pop(claimed.book_id, None)
        await through_outages(lambda: blurbs.forget_steps(pool, claimed))

    async def _failed(self, claimed: ClaimedBlurb, owner: UUID, error: UpstreamAIError) -> None:
        pool, through_outages = self._resources.pool, self._resources.health.through_outages
        most = MAX_UNUSABLE_TRIES if isinstance(error, UnusableReply) else MAX_TRIES
        again = not isinstance(error, HOPELESS) and claimed.tries < most
        log.warning("blurb_not_drafted", book_id=claimed.book_id, tries=claimed.tries, again=again, reason=str(error))
        if again:
            seconds = FIRST_DELAY_SECONDS * 4 ** (claimed.tries - 1)
            await through_outages(lambda: blurbs.postpone(pool, claimed, owner, seconds))
        else:
            await through_outages(lambda: blurbs.finish(pool, claimed, owner))
