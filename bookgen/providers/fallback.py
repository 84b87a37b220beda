"""A second model for what the first refuses or cannot be asked."""

from __future__ import annotations

from dataclasses import replace

import structlog

from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.text import StopReason, TextModel, TextReply, TextRequest

log = structlog.get_logger(__name__)


class FallbackModel:
    def __init__(self, first: TextModel, second: TextModel) -> None:
        self._first, self._second = first, second

    @property
    def name(self) -> str:
        return self._first.name

    async def complete(self, request: TextRequest) -> TextReply:
        """The usage includes what the first model's refusal cost."""
        try:
            reply = await self._first.complete(request)
        except UpstreamAIError as error:
            spent = error.spent if isinstance(error.spent, Usage) else Usage()
            return await self._fall_back(request, spent, str(error))
        if reply.stop is StopReason.REFUSAL:
            return await self._fall_back(request, reply.usage, "refused")
        return reply

    async def close(self) -> None:
        await self._first.close()
        await self._second.close()

    async def _fall_back(self, request: TextRequest, spent: Usage, why: str) -> TextReply:
        log.warning("model_fell_back", model=self._first.name, to=self._second.name, stage=request.stage, why=why)
        try:
            reply = await self._second.complete(request)
        except UpstreamAIError as error:
            error.spent = spent + error.spent if isinstance(error.spent, Usage) else spent
            raise
        return replace(reply, usage=spent + reply.usage)
