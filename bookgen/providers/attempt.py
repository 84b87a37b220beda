"""One attempt at a model call, its partial reply, and the ways in which it can fail."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bookgen.models import Usage
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.loops import first_round
from bookgen.providers.text import ModelBase, TextReply, TextRequest


class FailureKind(StrEnum):
    BUSY = "busy"  # 429: wait as long as the provider says; does not count as a try
    AWAY = "away"  # 408, 5xx, no connection, too slow, cut: try again
    GARBLED = "garbled"  # an unreadable answer: try again, but the provider is there
    LOCKED_OUT = "locked out"  # 401, 402, 403, no credit: every call fails until the operator fixes it
    DENIED = "denied"  # 400, 404 and similar: the same call will never succeed


# Failures that another try does not fix soon.
FINAL = frozenset({FailureKind.LOCKED_OUT, FailureKind.DENIED})


class Cure(StrEnum):
    """What an operator can do about a failure.

    Each value is a sentence, in which `{provider}` stands for the provider's name in upper case.
    """

    KEY = "Correct {provider}_API_KEY."
    CREDIT = "Add credit at the provider, or set another {provider}_API_KEY."
    MODEL = "Set BOOKGEN_MODEL or BOOKGEN_IMAGE_MODEL to a model that the provider has."
    ANOTHER_MODEL = "If this repeats, try another model."
    START = "Is the server running, and is {provider}_BASE_URL its address?"
    CONNECT = "Is this machine online? Behind a proxy, set HTTPS_PROXY."
    PATH = "Correct {provider}_BASE_URL: with most servers it ends in /v1."
    WAIT = "Try again later. If the server is your own, see its log."


class CallFailed(Exception):
    """A model call failed.

    - `message`: completes a sentence that begins with "The model provider", such as "is busy".
    - `retry_after`: how many seconds the provider asked us to wait; None if it did not.
    - `usage`: what the failed call used, as far as that is known.
    - `bound`: whether one of our own time limits ended the call.
    - `cut`: whether the reply broke off after it had begun. The provider may then charge more than `usage`.
    - `detail`: the provider's own error message. Only the operator sees `detail`, `address`, `cure` and `to_do`.
    - `address`: the URL of the server.
    - `cure`: what the operator can do. `to_do`: the same, with the provider's name filled in.
    """

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
    def log_to_do(self) -> str:
        """The sentence in the log that tells the operator what to do."""
        otherwise = "See `detail`." if self.failure in FINAL else "The call is repeated automatically."
        return self.to_do or otherwise

    @property
    def refuses_all_calls(self) -> bool:
        """Whether the provider refuses every call of this server, because of its key or its credit."""
        return self.failure is FailureKind.LOCKED_OUT and self.cure in (Cure.KEY, Cure.CREDIT)


class EndlessRepetition(Exception):
    """The reply repeats itself without end."""


CHECKED_EVERY = 400  # characters


@dataclass(slots=True)
class PartialReply:
    """The part of a reply that has arrived so far. If the call breaks off, `usage` says what the call has used."""

    deadlines: Deadlines = field(default_factory=Deadlines)
    text: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    events: int = 0
    prompt: int = 0  # estimated tokens of the request
    asked: int = 0  # tokens that the reply may have
    json_mode: str = ""  # the way in which JSON was requested
    started: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    first_word: float | None = None  # when it came, on the clock of `started`
    on_first_word: Callable[[], None] | None = None
    in_company: bool = False  # whether another call was in flight when this one began
    unchecked: int = 0  # characters since the last check for a loop
    stopped: bool = False  # whether we ended the call, because of a deadline or a loop
    headers: Mapping[str, str] = field(default_factory=dict)  # of the response
    written: int = 0  # characters, including thoughts and the rounds of a loop

    def add(self, piece: str) -> None:
        """Append a piece of text to the reply.

        If the text now repeats itself without end, cut the repetition off and raise EndlessRepetition.
        """
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
            raise EndlessRepetition


THINKING_ROOM = 8000  # tokens that a model may think with, in addition to its reply
MAX_REPORTED_TOKENS = 10**9  # a larger count from a server is cut to this


def counted(count: Any) -> int:
    """Return a token count that a server reported, limited to 0 … MAX_REPORTED_TOKENS. A missing count is 0."""
    return min(max(int(count or 0), 0), MAX_REPORTED_TOKENS)


class Provider(ModelBase):
    """The base class of every provider. A provider makes a call once, without retries."""

    @abstractmethod
    async def attempt(self, request: TextRequest) -> TextReply:
        """Make one call. Raises CallFailed if the call fails, and DoesNotFit if the prompt is too long for the model.

        A call usually takes one HTTP request. It takes more if the server rejects fields that it does not support.
        """

    @abstractmethod
    def most(self, request: TextRequest) -> Usage:
        """Return the maximum number of tokens and pictures that one attempt at `request` can use."""

    @property
    def calls_at_once(self) -> int | None:
        """How many concurrent calls the provider's rate limits allow; None if it reports no limits."""
        return None
