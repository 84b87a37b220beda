"""Counts model calls in the metrics: their results, how long they took and waited, and what they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bookgen import metrics
from bookgen.models import Usage
from bookgen.providers.attempt import CallFailed
from bookgen.providers.prices import prices
from bookgen.providers.text import StopReason, TextReply
from bookgen.providers.window import DoesNotFit

MICROS = 1_000_000
TOKEN_KINDS = ("input", "output", "cache_write", "cache_read")


class CallCounts:
    """The metrics of one model.

    `name` returns the model's name as `provider:model`. It is a function because a local server may report the name
    only later.
    """

    def __init__(self, name: Callable[[], str]) -> None:
        self._name = name

    @property
    def labels(self) -> tuple[str, str]:
        provider, _, model = self._name().partition(":")
        return provider, model or provider

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A context manager that counts one call as waiting while its block runs."""
        gauge = metrics.CALLS_WAITING.labels(*self.labels)
        gauge.inc()
        try:
            yield
        finally:
            gauge.dec()

    def waited(self, seconds: float) -> None:
        """Record how long a call waited for its turn."""
        metrics.CALL_WAITS.labels(*self.labels).observe(seconds)

    def breaker(self, *, open: bool) -> None:
        metrics.BREAKER_OPEN.labels(*self.labels).set(open)

    @contextmanager
    def counted_try(self) -> Iterator[Callable[[TextReply], TextReply]]:
        """A context manager that counts one try of a call: its result, how long it took, and its usage.

        It yields a function. The caller must pass the reply to this function, which returns the reply unchanged. If the
        function is not called, the try counts as failed.
        """
        clock = asyncio.get_running_loop().time
        began, outcome = clock(), "error"

        def replied(reply: TextReply) -> TextReply:
            nonlocal outcome
            outcome = "refused" if reply.stop is StopReason.REFUSAL else "ok"
            self.used(reply.usage)
            return reply

        try:
            yield replied
        except CallFailed as failed:
            outcome = failed.failure.value.replace(" ", "_")
            self.used(failed.usage)
            raise
        except DoesNotFit as wide:
            outcome = "too_long"
            self.used(wide.usage)
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            metrics.CALLS.labels(*self.labels, outcome).inc()
            metrics.CALL_TIMES.labels(*self.labels).observe(clock() - began)

    def used(self, usage: Usage) -> None:
        """Add the tokens and pictures of `usage`, and their cost, to the metrics."""
        for kind in TOKEN_KINDS:
            if tokens := getattr(usage, f"{kind}_tokens"):
                metrics.TOKENS.labels(*self.labels, kind).inc(tokens)
        if usage.images:
            metrics.IMAGES.labels(*self.labels).inc(usage.images)
        if cost := prices().priced(usage, self._name()).cost_micros:
            metrics.COST.labels(*self.labels, prices().currency).inc(cost / MICROS)
