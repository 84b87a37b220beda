"""The base class of text models, their requests and their replies."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol
from uuid import UUID, uuid4

from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.halt import HaltSwitch as HaltSwitch
from bookgen.providers.halt import Outage as Outage
from bookgen.words import tokens

THE_ONLY_ONE = "auto"  # in place of a model's name: the only model of its server


class StopReason(StrEnum):
    END = "end"
    LENGTH = "length"  # cut by the provider: the token limit or the context window
    LOOP = "loop"  # stopped because it repeated itself without end; its text ends before the repetition
    REFUSAL = "refusal"  # refused or filtered; the text is never prose


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the system prompt.

    `cache`: later calls repeat the prompt up to the end of this part, so the provider can cache it. `size`: the
    estimated tokens of `text`; None: they are counted when needed. Set it for a very long text, such as a whole book,
    because counting would block the event loop.
    """

    text: str
    cache: bool = False
    size: int | None = None

    @property
    def tokens(self) -> int:
        return tokens(self.text) if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation.

    `cache`: later calls repeat the prompt up to the end of this message, so the provider can cache it. Only the last
    four parts of a request that have `cache` set count.
    """

    role: Literal["user", "assistant"]
    text: str
    cache: bool = False


class CallBudget(Protocol):
    """Limits what calls may cost. `call_id` identifies a call in the ledger of costs."""

    async def reserve(self, call_id: UUID, model: str, most: Usage) -> None:
        """Reserve the cost of a call before it is sent. Raises CostCapReached if that would exceed a cap.

        `most`: the maximum number of tokens and pictures that the call can use.
        """

    async def release(self, call_id: UUID) -> None:
        """Cancel the reservation of a call that costs nothing."""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """One model call.

    - `max_tokens` limits the reply. `least_tokens`: a shorter limit, which is acceptable if the context window is
      small; None: there is no shorter one.
    - `schema`: a JSON Schema of an object. The reply should fit it.
    - `stage` and `chapter_number` identify the call in errors and in the ledger of costs.
    - `brief`: the request as fields, from which the offline model writes. It is never sent to a provider.
    - `account_id`: the account of the book. When calls have to wait, accounts take turns.
    - `patience`: how many seconds to wait for a provider that is busy or cannot be reached. None: as long as the
      model's settings say, which is how the calls of a run (the writing of a book) wait. Setting `halt` ends the wait.
    - `on_first_word` is called when the reply begins.
    - `on_bound` is called with the call's time limit in seconds when the call is sent, and with None when it has ended.
    - `budget` reserves the cost of each try.
    """

    stage: str
    system: tuple[Block, ...]
    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    chapter_number: int | None = None
    account_id: int | None = None
    brief: Mapping[str, Any] = field(default_factory=dict)
    least_tokens: int | None = None
    patience: float | None = None
    halt: HaltSwitch | None = field(default=None, compare=False, repr=False)
    on_first_word: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    on_bound: Callable[[float | None], None] | None = field(default=None, compare=False, repr=False)
    budget: CallBudget | None = field(default=None, compare=False, repr=False)

    @property
    def texts(self) -> list[str]:
        """All texts that the model reads, in order."""
        return [*(block.text for block in self.system), *(message.text for message in self.messages)]

    @property
    def tokens_of_texts(self) -> list[int]:
        """The estimated tokens of each text in `texts`."""
        return [*(block.tokens for block in self.system), *(tokens(message.text) for message in self.messages)]

    def described(self) -> dict[str, Any]:
        """Return a copy of `brief` with the stage and the chapter number of the call added."""
        return {"stage": self.stage, "chapter_number": self.chapter_number, **self.brief}


@dataclass(frozen=True, slots=True)
class Spent:
    """What one call used: its model, its tokens and pictures, and its id in the ledger of costs."""

    model: str
    usage: Usage
    call_id: UUID = field(default_factory=uuid4, compare=False)


@contextmanager
def paid_for(spent: Sequence[Spent]) -> Iterator[None]:
    """A context manager. If its block is cancelled, it attaches `spent` to the CancelledError, for `spent_before`."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        cancelled.spent = (*spent, *spent_before(cancelled))  # type: ignore[attr-defined]
        raise


def spent_before(ended: BaseException) -> tuple[Spent, ...]:
    """Return the paid calls that are attached to `ended`, the exception with which their work ended."""
    spent: tuple[Spent, ...] = getattr(ended, "spent", ())
    return spent


class CallsHalted(UpstreamAIError):
    """Model calls are halted, so this call was not made."""

    def __init__(self, stage: str, chapter_number: int | None, spent: tuple[Spent, ...] = ()) -> None:
        super().__init__(self.__doc__, stage=stage, retryable=True, chapter_number=chapter_number, spent=spent)


class PromptTooLong(UpstreamAIError):
    """A request does not fit the model's context window.

    `window`: how many tokens a request and its reply may have together, as counted by `words.tokens`.
    """

    def __init__(
        self, message: str, window: int, *, stage: str, chapter_number: int | None, spent: tuple[Spent, ...] = ()
    ) -> None:
        super().__init__(message, stage=stage, retryable=False, chapter_number=chapter_number, spent=spent)
        self.window = window


@dataclass(frozen=True, slots=True)
class TextReply:
    """The reply to a request.

    `model`: the name of the model that replied (it may be the fallback), as in the price table and the ledger. `usage`:
    what the successful call used. `also`: the failed calls before it that used tokens. `json_mode`: how the server was
    asked for JSON, if it may not support every way; otherwise empty.
    """

    text: str
    stop: StopReason
    usage: Usage
    model: str
    also: tuple[Spent, ...] = ()
    json_mode: str = ""
    call_id: UUID = field(default_factory=uuid4, compare=False)

    @property
    def spent(self) -> tuple[Spent, ...]:
        """All calls that had to be paid for this reply: the failed calls that used tokens, then the successful call."""
        return (*self.also, Spent(self.model, self.usage, self.call_id))

    @property
    def is_sample(self) -> bool:
        """Whether the reply is sample text of the offline model, which knows only a few languages."""
        return self.model == "offline"


@dataclass(frozen=True, slots=True)
class ShownSpeed:
    """The measured speed of a model.

    The fields: tokens that it writes per second, seconds that it takes to read a prompt token, and seconds until its
    first word arrives.
    """

    tokens_a_second: float
    seconds_a_token_read: float
    seconds_to_first_word: float = 0.0


CALL_SECONDS = 180.0  # the bound of a call unless another one is set or measured


class ModelBase(ABC):
    """The base class of text models and of their providers. The defaults describe a model without a remote provider."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name in settings and in the price table.

        It ends in THE_ONLY_ONE until the server has reported the name.
        """

    @property
    def shown_speed(self) -> ShownSpeed | None:
        """The measured speed of the model; None before the first reply."""
        return None

    @property
    def call_seconds(self) -> float:
        """The longest time limit of the calls in flight. If no call is in flight, the time limit of the last call."""
        return CALL_SECONDS

    async def find_name(self) -> None:
        """Ask the server for the model's name if it is unknown. After any failure it stays unknown."""
        return

    async def close(self) -> None:
        """Close the connections."""
        return


class TextModel(ModelBase):
    """The base class of every text model. The defaults describe a model without a remote provider.

    Subclasses override them where they differ, so callers never ask which kind of model they have.
    """

    @abstractmethod
    async def complete(self, request: TextRequest) -> TextReply:
        """Return the model's reply. Raises UpstreamAIError if all retries fail.

        If the model refuses, the reply has the stop reason REFUSAL, an empty text, and the usage. If `complete` is
        cancelled, the connection is closed. Pass the CancelledError to `spent_before` to get the calls that cost
        something.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all models that may answer."""
        return (self.name,)

    @property
    def outage(self) -> Outage | None:
        """The current outage of the provider; None if there is none. Runs (the writing of books) wait until it ends."""
        return None

    @property
    def refusals(self) -> Mapping[str, Outage]:
        """The models that a provider refuses, by name, with the time and the reason: the key, or no money left."""
        return {}

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        """From now on, call `tell` with the model's name and the seconds whenever the provider asks for a pause."""
        return

    def share(self, processes: int) -> None:
        """Set how many processes share the provider's limits. From now on, this process uses an equal share of them."""
        return

    def hold_back(self, name: str, seconds: float) -> None:
        """Make no call of the model `name` for `seconds`, because its provider asked another process for a pause."""
        return


def known_name(model: TextModel) -> str | None:
    """Return the model's name, or None if its server has not sent it yet."""
    return None if model.name.endswith(f":{THE_ONLY_ONE}") else model.name
