"""A model that passes requests on to a fallback model if the primary model fails or refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog

from bookgen.errors import CostCapReached, UpstreamAIError
from bookgen.providers.text import (
    CallsHalted,
    Outage,
    ShownSpeed,
    Spent,
    StopReason,
    TextModel,
    TextReply,
    TextRequest,
    paid_for,
)

log = structlog.get_logger(__name__)


class FallbackModel(TextModel):
    """Asks `primary` and, if that model fails or refuses, `fallback`.

    `outage` is the outage of `fallback`. Calls never wait for an outage of `primary` to end, because `fallback` answers
    instead.
    """

    def __init__(self, primary: TextModel, fallback: TextModel) -> None:
        self._primary, self._fallback = primary, fallback

    @property
    def name(self) -> str:
        return self._primary.name

    @property
    def outage(self) -> Outage | None:
        return self._fallback.outage

    async def find_name(self) -> None:
        await self._primary.find_name()

    @property
    def refusals(self) -> dict[str, Outage]:
        return {**self._primary.refusals, **self._fallback.refusals}

    @property
    def shown_speed(self) -> ShownSpeed | None:
        return self._primary.shown_speed

    @property
    def call_seconds(self) -> float:
        return max(self._primary.call_seconds, self._fallback.call_seconds)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._primary.names, *self._fallback.names)

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        self._primary.tell_busy(tell)
        self._fallback.tell_busy(tell)

    def share(self, processes: int) -> None:
        self._primary.share(processes)
        self._fallback.share(processes)

    def hold_back(self, name: str, seconds: float) -> None:
        self._primary.hold_back(name, seconds)
        self._fallback.hold_back(name, seconds)

    async def complete(self, request: TextRequest) -> TextReply:
        try:
            reply = await self._primary.complete(request)
        except (CallsHalted, CostCapReached):
            raise
        except UpstreamAIError as error:
            return await self._fall_back(request, error.spent, str(error))
        if reply.stop is StopReason.REFUSAL:
            return await self._fall_back(request, reply.spent, "refused")
        return reply

    async def close(self) -> None:
        await self._primary.close()
        await self._fallback.close()

    async def _fall_back(self, request: TextRequest, spent: tuple[Spent, ...], why: str) -> TextReply:
        log.warning("model_fell_back", model=self._primary.name, to=self._fallback.name, stage=request.stage, why=why)
        try:
            with paid_for(spent):
                reply = await self._fallback.complete(request)
        except UpstreamAIError as error:
            error.spent = (*spent, *error.spent)
            raise
        return replace(reply, also=(*spent, *reply.also))
