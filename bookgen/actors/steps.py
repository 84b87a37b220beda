"""Model calls that are paid for once: each reply is stored under the hash of its request.

When work is repeated, such as a chapter after a crash, the stored replies are used instead of new calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import orjson

from bookgen.actors.actor import now
from bookgen.actors.health import Dropped
from bookgen.actors.resources import Resources
from bookgen.billing.cost_caps import CostBudget, Purpose
from bookgen.errors import UpstreamAIError
from bookgen.fault_points import fault
from bookgen.models import Usage
from bookgen.providers.text import CallsHalted, HaltSwitch, Spent, StopReason, TextReply, TextRequest, spent_before
from bookgen.store import model_calls, runs
from bookgen.store import steps as store
from bookgen.store.model_calls import LedgerEntry, PaidCall, Step

# Seconds that the caller of an outline or a rewrite waits for an unreachable provider.
CALLER_PATIENCE = 45.0
MIN_WORDS_OF_A_CALL = 100  # a failed call counts as at least this many words


class TextDropped(UpstreamAIError):
    """The database was unavailable for so long that a text had to be dropped. Resume the run to write it again."""

    def __init__(self, stage: str, chapter_number: int | None) -> None:
        super().__init__(self.__doc__, stage=stage, retryable=True, chapter_number=chapter_number)


@dataclass(frozen=True, slots=True)
class StepScope:
    """The book, account and run that steps (model calls with stored replies) belong to.

    Replies are found by `salt` and request, so a second attempt with a new `salt` gets new replies. `epoch` is the
    run's epoch, a number that grows with each process that takes the run. It is None for work outside a run, such as a
    report.
    """

    account_id: int
    book_id: int
    salt: UUID
    run_id: UUID | None = None
    epoch: int | None = None


class StoredSteps:
    """Makes model calls and stores their replies. Implements `writing.steps.Steps`.

    A reply is stored before the next call is made. `unstored` is the last reply, if it is not stored yet: it is stored
    in the same transaction as the finished text.

    `halt`: once it is set, new calls and retries are refused. The call in flight continues, and stored replies are
    still returned.

    `failed`: the error of the last model call. None if the call succeeded, even if its reply then turned out to be
    unusable.

    `idle_from`: the loop time from which a lack of progress counts. It is the end of the last call or, during a call,
    the end of the call's time limit. None before the first call, and while a call waits until it can be sent.

    `replay`: whether `chapter` may have stored replies. If False, only requests about other chapters are looked up,
    such as a request for the digest (the summary for later chapters) of a chapter that its author has changed.
    """

    def __init__(self, resources: Resources, scope: StepScope, *, replay: bool, chapter: int | None = None) -> None:
        self._resources = resources
        self.scope = scope
        self._replay = replay
        self._chapter = chapter
        self.halt = HaltSwitch()
        self.idle_from: float | None = None
        self.failed: UpstreamAIError | None = None
        self.unstored: Step | None = None
        self.awaits_picture = False
        self.paid = False  # whether any call was paid for, whatever its result
        self.words_asked = 0  # how many words the paid calls asked for
        self.require_words: Callable[[], Awaitable[None]] | None = None  # raises QuotaExceeded before a chapter's call
        self.draft_words: int | None = None  # words of the chapter so far, including the newest reply

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        with self.timed_call():
            return await self._reply(request, attempt)

    @contextmanager
    def timed_call(self, *, picture: bool = False) -> Iterator[None]:
        """A context manager whose block makes a call and waits for the reply. At its end, `idle_from` is set to now.

        At its start, `idle_from` is None. A text call then sets it to the end of the call's time limit. `picture`:
        whether the call is to the image model.
        """
        self.idle_from, self.awaits_picture = None, picture
        try:
            yield
        finally:
            self.idle_from, self.awaits_picture = now(), False

    def _set_time_limit(self, seconds: float | None) -> None:
        self.idle_from = None if seconds is None else now() + seconds

    async def _reply(self, request: TextRequest, attempt: int) -> TextReply:
        await self.settle()
        key = step_key(self.scope.salt, replace(request, on_first_word=None), attempt)
        elsewhere = self._chapter is not None and request.chapter_number != self._chapter
        if (self._replay or elsewhere) and (stored := await self._stored(key)):
            return stored
        await self._resources.health.wait()
        if self.halt.is_set:
            raise CallsHalted(request.stage, request.chapter_number)
        if self.require_words and request.stage == "chapter":
            await self.require_words()
        if self.scope.run_id is None:  # outside a run, a caller waits for the answer
            request = replace(request, patience=CALLER_PATIENCE)
        budget = self.budget(request.stage, request.chapter_number)
        reply = _storable(
            await self._call(replace(request, halt=self.halt, on_bound=self._set_time_limit, budget=budget))
        )
        self.words_asked += words_counted_if_lost(request)
        entry = self.ledger_entry(request.stage, request.chapter_number, reply.spent)
        self.unstored = Step(key, _to_json(reply), entry, words_counted_if_lost(request))
        return reply

    async def has(self, request: TextRequest) -> bool:
        if not self._replay:
            return False
        await self.settle()
        return await self._stored(step_key(self.scope.salt, request, 0)) is not None

    def for_concurrent_calls(self) -> StoredSteps:
        """Return steps for calls that run at the same time. Setting `halt` halts their calls, too."""
        steps = ConcurrentSteps(self._resources, self.scope, replay=self._replay, chapter=self._chapter)
        steps.halt = self.halt.for_concurrent_calls()
        return steps

    async def settle(self) -> None:
        """Store the unstored reply, however long the database is unavailable. Raises TextDropped if memory runs out."""
        if (step := self.unstored) is None:
            return
        health, backlog = self._resources.health, self._resources.backlog
        try:
            async with backlog.entry(sys.getsizeof(step.reply["text"])):
                await health.through_outages(self.store_last, in_vain=backlog.make_room)
        except Dropped:
            self.unstored = None
            self.failed = TextDropped(step.entry.stage, step.entry.chapter_number)
            await self.charge(step.entry)
            raise self.failed from None

    async def store_last(self) -> None:
        """Store the unstored reply. Raises Unavailable if the database is unavailable."""
        if step := self.unstored:
            await fault("step.before", self.scope.book_id)
            epoch = await store.save(self._resources.pool, step, self.draft_words)
            self.unstored = None
            # Another process may have taken or steered the run, and its notification may be lost.
            if self.scope.epoch not in (None, epoch):
                self.halt.set()
            await fault("step.after", self.scope.book_id)

    async def _stored(self, key: str) -> TextReply | None:
        pool, book_id = self._resources.pool, self.scope.book_id
        stored = await self._resources.health.through_outages(lambda: store.find(pool, book_id, key))
        return _from_json(stored) if stored else None

    def budget(self, stage: str, chapter_number: int | None) -> CostBudget | None:
        """Return the cost budget for the next call; None if no cost cap is set."""
        resources, scope = self._resources, self.scope
        if resources.caps.none:
            return None
        purpose = Purpose(stage, scope.account_id, scope.book_id, chapter_number)
        return CostBudget(resources.pool, resources.caps, resources.price, purpose, resources.health.through_outages)

    async def _call(self, request: TextRequest) -> TextReply:
        await fault("call.before", self.scope.book_id)
        self.failed = None  # after a request that did not fit, writing may have sent a smaller one
        try:
            return await self._resources.model.complete(request)
        except UpstreamAIError as error:
            self.failed = error
            if error.spent:
                self.words_asked += words_counted_if_lost(request)
            await self.charge(self.ledger_entry(request.stage, request.chapter_number, error.spent))
            raise
        except asyncio.CancelledError as cancelled:
            self.charge(self.ledger_entry(request.stage, request.chapter_number, spent_before(cancelled)))
            self._count_cut_off_words(request)
            raise

    def _count_cut_off_words(self, request: TextRequest) -> None:
        """If the run was stopped, count the words that a cancelled call asked for as words of the run.

        Otherwise, an author could stop a run again and again before each reply and get free words.
        """
        if (run_id := self.scope.run_id) is not None:
            resources, words, call_id = self._resources, words_counted_if_lost(request), uuid4()
            resources.ledger_writes.begin(
                resources.health.through_outages(lambda: runs.count_cut_off(resources.pool, run_id, words, call_id))
            )

    def words_lost(self, draft_words: int) -> int:
        """Return how many words were paid for and not received, counted as the words that the calls asked for.

        `draft_words`: how many words of the chapter were stored when the work on it began.
        """
        gained = max(0, (self.draft_words or 0) - draft_words)
        return max(0, self.words_asked - gained) if self.paid else 0

    def charge(self, entry: LedgerEntry) -> asyncio.Future[None]:
        """Record the cost of calls without a usable reply. Return a future that is done when the cost is recorded.

        The cost is recorded even if nobody awaits the future, or the task that awaits it is cancelled.
        """
        return asyncio.shield(self._resources.ledger_writes.begin(self._charge(entry)))

    async def _charge(self, entry: LedgerEntry) -> None:
        if entry.calls:
            await self._resources.health.through_outages(lambda: model_calls.charge(self._resources.pool, entry))

    def ledger_entry(self, stage: str, chapter_number: int | None, spent: Sequence[Spent]) -> LedgerEntry:
        price = self._resources.price
        calls = tuple(PaidCall(each.model, each.usage, price(each.model, each.usage), each.call_id) for each in spent)
        self.paid = self.paid or any(call.cost_micros != 0 for call in calls)
        scope = self.scope
        return LedgerEntry(scope.account_id, scope.book_id, scope.run_id, stage, chapter_number, calls)


class ConcurrentSteps(StoredSteps):
    """Steps for calls that run at the same time. Each reply is stored before it is returned, not with a text."""

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        reply = await super().reply(request, attempt=attempt)
        try:
            await self.settle()
        except BaseException:  # the reply is no longer needed, but it was paid for
            if step := self.unstored:
                self.unstored = None
                self.charge(step.entry)
            raise
        return reply


def words_counted_if_lost(request: TextRequest) -> int:
    """Return how many words a paid call adds to the lost words of its run if it brings no text.

    These are the words that the call asked for, but at least MIN_WORDS_OF_A_CALL. A call that does not write a chapter
    adds MIN_WORDS_OF_A_CALL.
    """
    return max(int(request.brief.get("words", 0)) if request.stage == "chapter" else 0, MIN_WORDS_OF_A_CALL)


def step_key(salt: UUID, request: TextRequest, attempt: int) -> str:
    """Return the key of a stored reply: a hash of the salt, the whole request and the attempt."""
    asked = orjson.dumps({"request": request, "attempt": attempt}, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(salt.bytes + asked).hexdigest()


def _to_json(reply: TextReply) -> dict[str, Any]:
    """Return a reply in its stored form. It has no costs, because they are in the ledger of paid calls."""
    return {"text": reply.text, "stop": reply.stop, "usage": reply.usage, "model": reply.model}


def _from_json(stored: dict[str, Any]) -> TextReply:
    return TextReply(stored["text"], StopReason(stored["stop"]), Usage(**stored["usage"]), stored["model"])


def _storable(reply: TextReply) -> TextReply:
    """Return the reply without U+0000 and lone surrogates, which PostgreSQL cannot store."""
    if reply.text.isascii() and "\0" not in reply.text:
        return reply
    return replace(reply, text=reply.text.replace("\0", "").encode("utf-8", "ignore").decode())
