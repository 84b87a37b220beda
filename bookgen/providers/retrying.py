"""The retry loop of model calls. The SDKs' own retries are off.

No retry library has two rules that are needed here. A 429 or an open circuit breaker does not count as a try. And if a
provider asks for a pause, all calls to the provider wait, not only the call that got the 429.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

import structlog

from bookgen.errors import CostCapReached, UpstreamAIError
from bookgen.providers.attempt import FINAL, CallFailed, FailureKind, Provider
from bookgen.providers.breaker import CircuitBreaker
from bookgen.providers.call_metrics import CallCounts
from bookgen.providers.halt import Halted, HaltSwitch
from bookgen.providers.lockout import Lockout
from bookgen.providers.pacing import Pacing
from bookgen.providers.slots import Slot
from bookgen.providers.text import (
    CallsHalted,
    Outage,
    PromptTooLong,
    ShownSpeed,
    Spent,
    TextModel,
    TextReply,
    TextRequest,
    paid_for,
)
from bookgen.providers.waits import BusyGate, OutOfPatience, Patience, RetryRules
from bookgen.providers.window import DoesNotFit

log = structlog.get_logger(__name__)


class RetryingModel(TextModel):
    """A provider with pacing and retries. While the provider is down, only test calls are made."""

    def __init__(
        self,
        provider: Provider,
        *,
        pacing: Pacing,
        breaker: CircuitBreaker | None = None,
        lockout: Lockout | None = None,
        rules: RetryRules | None = None,
        waits: bool = True,
        follows: bool = False,
    ) -> None:
        """`waits`: whether calls wait until an outage ends. It is False for a model that has a fallback.

        `follows`: whether to make as many concurrent calls as the provider's reported rate limits allow.
        """
        self._provider, self._pacing = provider, pacing
        self._breaker, self._rules = breaker or CircuitBreaker(), rules or RetryRules()
        self._lockout = lockout or Lockout(provider.name)
        self._gate = BusyGate()
        self._counts = CallCounts(lambda: provider.name)
        self._counts.breaker(open=False)
        self._waits = waits
        self._follows = follows
        self._calls = 0
        self._outage: Outage | None = None  # set only while a call waits for its end
        self._tell_busy: Callable[[str, float], None] = lambda name, seconds: None

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        self._tell_busy = tell

    def share(self, processes: int) -> None:
        self._pacing.share(processes)

    def hold_back(self, name: str, seconds: float) -> None:
        if name == self.name:
            self._gate.shut(min(seconds, self._rules.longest_wait))

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def outage(self) -> Outage | None:
        return self._outage

    async def find_name(self) -> None:
        await self._provider.find_name()

    @property
    def refusals(self) -> dict[str, Outage]:
        refusal = self._lockout.refusal
        return {self.name: refusal} if refusal else {}

    @property
    def shown_speed(self) -> ShownSpeed | None:
        return self._provider.shown_speed

    @property
    def call_seconds(self) -> float:
        return self._provider.call_seconds

    async def close(self) -> None:
        await self._provider.close()

    async def complete(self, request: TextRequest) -> TextReply:
        spent: list[Spent] = []
        halt = HaltSwitch() if request.halt is None else request.halt
        self._calls += 1
        try:
            with paid_for(spent):
                return await self._complete(request, halt, spent)
        except Halted:
            raise CallsHalted(request.stage, request.chapter_number, tuple(spent)) from None
        except CostCapReached as capped:
            capped.spent = tuple(spent)
            raise
        except DoesNotFit as wide:
            raise PromptTooLong(
                f"The model's context window holds about {wide.window:,} tokens, too few for this request. A whole "
                "book needs 32,000.",
                wide.window,
                stage=request.stage,
                chapter_number=request.chapter_number,
                spent=tuple(spent),
            ) from wide
        finally:
            halt.wait_reason = None
            self._calls -= 1
            if not self._calls:
                self._outage = None

    async def _complete(self, request: TextRequest, halt: HaltSwitch, spent: list[Spent]) -> TextReply:
        sits_out = self._waits and request.patience is None and self._rules.outage > 0
        lockout = self._lockout if sits_out else None  # a caller who waits for the answer gets the error at once
        usual = self._rules.outage if sits_out else self._rules.patience
        patience = Patience(usual if request.patience is None else request.patience)
        failures = failures_in_a_row = 0
        last: CallFailed | None = None
        wait_reason: Outage | None = None
        while True:
            try:
                reply = await self._try(request, patience, halt, spent, wait_reason, lockout)
            except _Failed as failure:
                failed = last = failure.call
                locked_out = failed.failure is FailureKind.LOCKED_OUT
                wait_reason = Outage(
                    wait_reason.since if wait_reason else _now(), None, str(failed), by_operator=locked_out
                )
                halt.wait_reason = wait_reason
                away = sits_out and failed.failure is FailureKind.AWAY
                refused = sits_out and locked_out
                failures += failure.costs_a_try and not (away or refused)
                failures_in_a_row = failures_in_a_row + 1 if away or refused else 0
                if away and self._outage is None:
                    now = _now()
                    self._outage = Outage(now, now + timedelta(seconds=self._rules.outage), str(failed))
                if not failure.is_known or request.patience is not None or self._rules.outage == 0:
                    self._log(request, failed, failures)
                if (failed.failure in FINAL and not refused) or failures >= self._rules.tries:
                    raise self._error(request, failed, spent) from failed
                async with self._waiting(halt):
                    if refused:
                        await self._lockout.back_off(failed, failures_in_a_row)
                    elif away:
                        await self._wait_out_outage(patience, failures_in_a_row)
                    else:
                        await self._back_off(failure, failures)
            except OutOfPatience as tired:
                raise self._error(request, CallFailed(str(tired), FailureKind.AWAY), spent) from last
            else:
                if reply is not None:
                    return replace(reply, also=tuple(spent))

    async def _try(
        self,
        request: TextRequest,
        patience: Patience,
        halt: HaltSwitch,
        spent: list[Spent],
        wait_reason: Outage | None,
        lockout: Lockout | None,
    ) -> TextReply | None:
        """Make one try. Return None if the provider became busy or unreachable before the call could be made.

        `wait_reason`: why there is no reply yet, to show to the user. `lockout`: if it is not None, first wait until
        the provider accepts this server's key and credit, however long that takes.
        """
        async with AsyncExitStack() as held:
            if lockout:
                halt.wait_reason = halt.wait_reason or lockout.refusal
                async with self._waiting(halt):
                    await held.enter_async_context(lockout.admitted())
            return await self._try_now(request, patience, halt, spent, wait_reason)

    async def _try_now(
        self,
        request: TextRequest,
        patience: Patience,
        halt: HaltSwitch,
        spent: list[Spent],
        wait_reason: Outage | None,
    ) -> TextReply | None:
        began = asyncio.get_running_loop().time()
        turn = "is busy with other calls of this server" if self._gate.is_open else "is busy"
        halt.wait_reason = halt.wait_reason or Outage(_now(), None, turn)
        async with self._waiting(halt):
            probe = await self._admitted(patience)
        tried = asyncio.get_running_loop().time()
        try:
            async with AsyncExitStack() as held:
                async with self._waiting(halt):
                    slot = await held.enter_async_context(self._pacing.slot(request.account_id))
                if not probe and not (self._breaker.closed and self._gate.is_open):
                    return None
                halt.wait_reason = wait_reason
                self._counts.waited(asyncio.get_running_loop().time() - began)
                reply = await self._within_budget(
                    replace(request, on_first_word=partial(_begins, slot, halt, request.on_first_word)), spent
                )
        except CallFailed as failed:
            is_known = self._record_failure(failed)
            if failed.failure is FailureKind.BUSY:
                asked = failed.retry_after
                # Without a minimum, a 0 or a date in the past would retry at once, forever.
                asked = self._rules.busy_delay if asked is None else max(asked, self._rules.first_delay)
                self._gate.shut(min(asked, self._rules.longest_wait))
                self._tell_busy(self.name, asked)
            costs_a_try = not probe and failed.failure is not FailureKind.BUSY
            if not costs_a_try:
                patience.spend(asyncio.get_running_loop().time() - tried)
            raise _Failed(failed, costs_a_try=costs_a_try, is_known=is_known) from failed
        except BaseException:
            if probe:
                self._breaker.let_go()
            raise
        self._breaker.record_success()
        self._counts.breaker(open=False)
        self._lockout.record_success()
        self._outage = None
        if self._follows and (calls := self._provider.calls_at_once):
            self._pacing.allow(calls)
        return reply

    def _record_failure(self, failed: CallFailed) -> bool:
        """Record what a failure says about the provider.

        Return whether the provider was already known to refuse all calls.
        """
        if failed.failure is FailureKind.AWAY:
            self._breaker.record_failure()
            self._counts.breaker(open=not self._breaker.closed)
            return False
        self._breaker.record_success()
        self._counts.breaker(open=False)
        return self._lockout.record_failure(failed)

    async def _within_budget(self, request: TextRequest, spent: list[Spent]) -> TextReply:
        """Reserve the cost of a call and make the call. If the call fails, add its usage to `spent`.

        If the reply breaks off, the real cost of the call is unknown. In this case the reservation stays, and the known
        usage gets a call id of its own.
        """
        call_id = uuid4()
        if request.budget is not None:
            await request.budget.reserve(call_id, self.name, self._provider.most(request))
        try:
            with self._counts.counted_try() as replied:
                return replied(replace(await self._provider.attempt(request), call_id=call_id))
        except (CallFailed, DoesNotFit) as failed:
            cut = isinstance(failed, CallFailed) and failed.cut
            if failed.usage.calls:
                spent.append(Spent(self.name, failed.usage, uuid4() if cut else call_id))
            elif request.budget is not None and not cut:
                await request.budget.release(call_id)
            raise

    @asynccontextmanager
    async def _waiting(self, halt: HaltSwitch) -> AsyncIterator[None]:
        """A context manager that counts one call as waiting while its block runs. Raises Halted once `halt` is set."""
        with self._counts.waiting():
            async with halt.waiting():
                yield

    async def _admitted(self, patience: Patience) -> bool:
        if not self._waits and not self._breaker.closed:
            if self._breaker.take_probe():
                return True
            raise OutOfPatience("is away")
        async with patience.waiting():
            await self._gate.opened()
            return await self._breaker.admitted()

    async def _wait_out_outage(self, patience: Patience, failures_in_a_row: int) -> None:
        """Wait before the next try to reach the provider. The time is taken from `patience`.

        `failures_in_a_row`: how many tries to reach the provider have failed in a row; the wait grows with this number.
        """
        delay = self._rules.delay(failures_in_a_row)
        patience.spend(delay)
        await asyncio.sleep(delay)

    async def _back_off(self, failure: _Failed, failures: int) -> None:
        if failure.costs_a_try:
            asked = min(failure.call.retry_after or 0, self._rules.longest_wait)
            await asyncio.sleep(max(self._rules.delay(failures), asked))

    def _log(self, request: TextRequest, failed: CallFailed, failures: int) -> None:
        # Only the operator can fix these: a key, a balance, a model's name.
        level = log.error if failed.failure in FINAL else log.warning
        level(
            "model_call_failed",
            model=self.name,
            stage=request.stage,
            chapter_number=request.chapter_number,
            failure=failed.failure.value,
            tries=failures,
            message=str(failed),
            address=failed.address,
            detail=failed.detail,
            to_do=failed.log_to_do,
        )

    def _error(self, request: TextRequest, failed: CallFailed, spent: Sequence[Spent]) -> UpstreamAIError:
        return UpstreamAIError(
            f"The model provider {failed}.",
            stage=request.stage,
            chapter_number=request.chapter_number,
            retryable=failed.failure not in FINAL,
            spent=tuple(spent),
        )


def _begins(slot: Slot, halt: HaltSwitch, tell: Callable[[], None] | None) -> None:
    """Record that the reply has begun, so the call is no longer waiting."""
    slot.answered()
    halt.wait_reason = None
    if tell is not None:
        tell()


def _now() -> datetime:
    return datetime.now(UTC)


class _Failed(Exception):
    """A failed try. `costs_a_try`: whether it counts towards the limit of tries.

    `is_known`: whether the provider was already known to refuse all calls, so that the failure need not be logged.
    """

    def __init__(self, call: CallFailed, *, costs_a_try: bool, is_known: bool) -> None:
        super().__init__(str(call))
        self.call, self.costs_a_try, self.is_known = call, costs_a_try, is_known
