"""One try of one model call, and the ways in which it can fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from bookgen.models import Usage
from bookgen.providers.text import TextReply, TextRequest


class FailureKind(StrEnum):
    BUSY = "busy"  # 429: wait as long as it says; costs no try
    AWAY = "away"  # 408, 5xx, no connection, too slow, cut: try again
    GARBLED = "garbled"  # an answer that nobody can read: try again, but somebody is there
    DENIED = "denied"  # 400, 401, 403 and the like: the same call will never succeed


class CallFailed(Exception):
    """`retry_after`: seconds, as the provider asked. `usage`: what it had told before the call broke."""

    def __init__(
        self, message: str, failure: FailureKind, *, retry_after: float | None = None, detail: str = ""
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.retry_after = retry_after
        self.detail = detail
        self.usage = Usage()


@dataclass(slots=True)
class PartialReply:
    """What a reply said so far. It outlives a call that breaks, whose tokens are paid all the same."""

    text: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    events: int = 0
    json_mode: str = ""  # how JSON was asked for


MOST_TOKENS_TOLD = 10**9  # a server that tells more, or less than none, is not believed


def counted(told: Any) -> int:
    """A count of tokens as a server tells it; 0 where it tells none."""
    return min(max(int(told or 0), 0), MOST_TOKENS_TOLD)


class Provider(Protocol):
    """A model at its provider. An `attempt` is one HTTP call, or a few while a server's ways are learned."""

    @property
    def name(self) -> str: ...

    async def attempt(self, request: TextRequest) -> TextReply: ...

    async def close(self) -> None: ...
