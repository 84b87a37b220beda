"""One try of one model call, and the ways in which it can fail."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bookgen.models import Usage
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.loops import first_round
from bookgen.providers.text import CALL_SECONDS, ShownSpeed, TextReply, TextRequest


class FailureKind(StrEnum):
    BUSY = "busy"  # 429: wait as long as it says; costs no try
    AWAY = "away"  # 408, 5xx, no connection, too slow, cut: try again
    GARBLED = "garbled"  # an answer that nobody can read: try again, but somebody is there
    LOCKED_OUT = "locked out"  # 401, 402, 403, no credit: every call fails until the operator has done something
    DENIED = "denied"  # 400, 404 and the like: the same call will never succeed


# Failures that no other try mends soon.
FINAL = frozenset({FailureKind.LOCKED_OUT, FailureKind.DENIED})


class Cure(StrEnum):
    """What an operator may do about a failure. `provider` begins the names of its settings."""

    KEY = "Set {provider}_API_KEY right."
    CREDIT = "Pay for more there, or set another {provider}_API_KEY."
    MODEL = "Name a model that it has."
    ANOTHER_MODEL = "Another model may do better."
    START = "Is it running, and is {provider}_BASE_URL its address?"
    CONNECT = "Is this machine online? Behind a proxy set HTTPS_PROXY."
    PATH = "Set {provider}_BASE_URL right: most servers' ends in /v1."
    WAIT = "Try again later; a server of your own says more in its log."


class CallFailed(Exception):
    """`retry_after`: seconds, as the provider asked. `usage`: what it had told before the call broke. `bound`:
    whether a bound of ours ended it. `cut`: whether the answer had begun, so that more may be charged than was told.

    For the operator alone: `detail`, the provider's own words; `address`, where it was asked; `cure`."""

    def __init__(
        self,
        message: str,
        failure: FailureKind,
        *,
        retry_after: float | None = None,
        detail: str = "",
        bound: bool = False,
        cure: Cure | None = None,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.retry_after = retry_after
        self.detail = detail
        self.bound = bound
        self.cure = cure
        self.address = self.to_do = ""
        self.usage = Usage()
        self.cut = False

    @property
    def of_all_calls(self) -> bool:
        """Whether the provider refuses this server's key or credit, and not just this call."""
        return self.failure is FailureKind.LOCKED_OUT and self.cure in (Cure.KEY, Cure.CREDIT)


class Looped(Exception):
    """The reply repeats itself without end."""


CHECKED_EVERY = 400  # characters


@dataclass(slots=True)
class PartialReply:
    """What a reply said so far. It outlives a call that breaks, whose tokens are paid all the same."""

    deadlines: Deadlines = field(default_factory=Deadlines)
    text: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    events: int = 0
    prompt: int = 0  # estimated tokens of what was sent
    asked: int = 0  # tokens that the reply may have
    json_mode: str = ""  # how JSON was asked for
    started: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    first_word: float | None = None  # when it came, on the same clock
    on_first_word: Callable[[], None] | None = None
    in_company: bool = False  # whether another call was under way when it began
    unchecked: int = 0  # characters since the last look for a loop
    stopped: bool = False  # by us, before its end
    headers: Mapping[str, str] = field(default_factory=dict)  # of the reply
    written: int = 0  # characters, also those that are no part of the text: thoughts, rounds of a loop

    def add(self, piece: str) -> None:
        """Adds a piece of the text. Looped when the text goes round in a circle."""
        if piece and self.first_word is None:
            self.first_word = asyncio.get_running_loop().time()
            if self.on_first_word is not None:
                self.on_first_word()
        self.text.append(piece)
        self.written += len(piece)
        self.unchecked += len(piece)
        if self.unchecked >= CHECKED_EVERY:
            self.unchecked = 0
            self._cut_loop()

    def _cut_loop(self) -> None:
        text = "".join(self.text)
        if (end := first_round(text)) is not None:
            self.text[:] = [text[:end]]
            raise Looped


THINKING_ROOM = 8000  # tokens, which a model that thinks is given beside those of its reply
MAX_REPORTED_TOKENS = 10**9  # a server that tells more, or less than none, is not believed


def counted(told: Any) -> int:
    """A count of tokens as a server tells it; 0 where it tells none."""
    return min(max(int(told or 0), 0), MAX_REPORTED_TOKENS)


class Provider(ABC):
    """The base of every provider: a model without retries. The defaults are those of TextModel."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name, as in TextModel."""

    @abstractmethod
    async def attempt(self, request: TextRequest) -> TextReply:
        """Make one call: one HTTP request, or a few until it is known what the server supports. Raises CallFailed."""

    @abstractmethod
    def most(self, request: TextRequest) -> Usage:
        """Return the most that an attempt can use."""

    @property
    def shown_speed(self) -> ShownSpeed | None:
        """The measured speed; None before the first reply."""
        return None

    @property
    def calls_at_once(self) -> int | None:
        """How many concurrent calls the provider's rate limits allow; None if it reports no limits."""
        return None

    @property
    def call_seconds(self) -> float:
        """The longest bound of the calls in flight, or the bound of the last call if there are none."""
        return CALL_SECONDS

    async def find_name(self) -> None:
        """Ask the server for the model's name if it is unknown. After any failure it stays unknown."""
        return

    async def close(self) -> None:
        """Close the connections."""
        return
