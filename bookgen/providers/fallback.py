"""A second model for what the first refuses or cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog

from bookgen.errors import CostCapReached, UpstreamAIError
from bookgen.providers.text import (
    CallsHalted,
    Discovering,
    Outage,
    Patient,
    Shared,
    ShownSpeed,
    Spent,
    StopReason,
    TextModel,
    TextReply,
    TextRequest,
    Timed,
    bound_of,
    paid_for,
    refusals_of,
)

log = structlog.get_logger(__name__)


class FallbackModel:
    def __init__(self, first: TextModel, second: TextModel) -> None:
        self._first, self._second = first, second
        self._shared = [model for model in (first, second) if isinstance(model, Shared)]

    @property
    def name(self) -> str:
        return self._first.name

    @property
    def outage(self) -> Outage | None:
        return self._second.outage if isinstance(self._second, Patient) else None

    async def find_name(self) -> None:
        if isinstance(self._first, Discovering):
            await self._first.find_name()

    @property
    def refusals(self) -> dict[str, Outage]:
        return {name: each for model in (self._first, self._second) for name, each in refusals_of(model).items()}

    @property
    def shown_speed(self) -> ShownSpeed | None:
        return self._first.shown_speed if isinstance(self._first, Timed) else None

    @property
    def call_seconds(self) -> float:
        return max(bound_of(self._first), bound_of(self._second))

    @property
    def names(self) -> tuple[str, ...]:
        return self._first.name, self._second.name

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        for model in self._shared:
            model.tell_busy(tell)

    def share(self, processes: int) -> None:
        for model in self._shared:
            model.share(processes)

    def hold_back(self, name: str, seconds: float) -> None:
        for model in self._shared:
            model.hold_back(name, seconds)

    async def complete(self, request: TextRequest) -> TextReply:
        try:
            reply = await self._first.complete(request)
        except (CallsHalted, CostCapReached):
            raise
        except UpstreamAIError as error:
            return await self._fall_back(request, error.spent, str(error))
        if reply.stop is StopReason.REFUSAL:
            return await self._fall_back(request, reply.spent, "refused")
        return reply

    async def close(self) -> None:
        await self._first.close()
        await self._second.close()

    async def _fall_back(self, request: TextRequest, spent: tuple[Spent, ...], why: str) -> TextReply:
        log.warning("model_fell_back", model=self._first.name, to=self._second.name, stage=request.stage, why=why)
        try:
            with paid_for(spent):
                reply = await self._second.complete(request)
        except UpstreamAIError as error:
            error.spent = (*spent, *error.spent)
            raise
        return replace(reply, also=(*spent, *reply.also))
