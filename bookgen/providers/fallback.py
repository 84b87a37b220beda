"""A model that passes requests on to a second model if the first one fails or refuses."""

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
    """Asks `first` and, if it fails or refuses, `second`.

    `outage` is that of `second`: calls never wait for an outage of `first` to end, because `second` answers instead.
    """

    def __init__(self, first: TextModel, second: TextModel) -> None:
        self._first, self._second = first, second

    @property
    def name(self) -> str:
        return self._first.name

    @property
    def outage(self) -> Outage | None:
        return self._second.outage

    async def find_name(self) -> None:
        await self._first.find_name()

    @property
    def refusals(self) -> dict[str, Outage]:
        return {**self._first.refusals, **self._second.refusals}

    @property
    def shown_speed(self) -> ShownSpeed | None:
        return self._first.shown_speed

    @property
    def call_seconds(self) -> float:
        return max(self._first.call_seconds, self._second.call_seconds)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._first.names, *self._second.names)

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        self._first.tell_busy(tell)
        self._second.tell_busy(tell)

    def share(self, processes: int) -> None:
        self._first.share(processes)
        self._second.share(processes)

    def hold_back(self, name: str, seconds: float) -> None:
        self._first.hold_back(name, seconds)
        self._second.hold_back(name, seconds)

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
