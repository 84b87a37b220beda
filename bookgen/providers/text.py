"""Text models behind one Protocol: what is asked, what comes back, why it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable
from uuid import UUID, uuid4

from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.halt import Halt as Halt
from bookgen.providers.halt import Outage as Outage

THE_ONLY_ONE = "auto"  # for a model's name: the one that its server has


class StopReason(StrEnum):
    END = "end"
    LENGTH = "length"  # cut by the provider: the token limit or the context window
    LOOP = "loop"  # it repeated itself without end and was stopped; its text is what stands before that
    REFUSAL = "refusal"  # refused or filtered: the text is never prose


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the system prompt. `cache` ends a prefix that later calls of the book repeat byte for byte."""

    text: str
    cache: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """`cache` ends a prefix as in Block; a request has at most four of both together."""

    role: Literal["user", "assistant"]
    text: str
    cache: bool = False


class CallBudget(Protocol):
    """What calls may cost. Each is named by an id of its own, under which the ledger knows it."""

    async def reserve(self, call_id: UUID, model: str, most: Usage) -> None:
        """Makes room for the most that a call of `model` can use, before it goes out. CostCapReached."""

    async def release(self, call_id: UUID) -> None:
        """Gives back the room of a call that is not charged."""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """One model call.

    `max_tokens` bounds the reply; `least_tokens`, where it may be bounded more closely, is what a small context window
    has to leave for it. `schema` asks for JSON of that JSON Schema where the provider has such a
    mode (object schemas only). `stage` and `chapter_number` name the call in errors and in the ledger.
    `brief` says what is asked for as fields: the offline model writes from it, and no provider is sent it.
    `account_id` paces one account's calls. `patience`: the seconds that a caller who waits for the answer gives a
    busy or absent provider; None, where nobody waits, sits out an outage. `halt`: what ends that waiting.
    `on_first_word` is called when the reply begins. `on_bound` is told the seconds that a call which goes out may
    take, and None when it has ended. `budget`: what makes room for the cost of each try.
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
    halt: Halt | None = field(default=None, compare=False, repr=False)
    on_first_word: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    on_bound: Callable[[float | None], None] | None = field(default=None, compare=False, repr=False)
    budget: CallBudget | None = field(default=None, compare=False, repr=False)

    @property
    def texts(self) -> list[str]:
        """All that the model is given to read, in order."""
        return [*(block.text for block in self.system), *(message.text for message in self.messages)]

    def described(self) -> dict[str, Any]:
        """The brief, with the stage and the chapter of the call."""
        return {"stage": self.stage, "chapter_number": self.chapter_number, **self.brief}


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call has used."""

    model: str
    usage: Usage
    call_id: UUID = field(default_factory=uuid4, compare=False)


@contextmanager
def paid_for(spent: Sequence[Spent]) -> Iterator[None]:
    """Has a cancellation within tell what was `spent` by then, which nobody else would know of."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        cancelled.spent = (*spent, *spent_before(cancelled))  # type: ignore[attr-defined]
        raise


def spent_before(ended: BaseException) -> tuple[Spent, ...]:
    """What was spent on work before it failed or was cancelled."""
    spent: tuple[Spent, ...] = getattr(ended, "spent", ())
    return spent


class CallsHalted(UpstreamAIError):
    """No further model call is wanted right now."""

    def __init__(self, stage: str, chapter_number: int | None, spent: tuple[Spent, ...] = ()) -> None:
        super().__init__(self.__doc__, stage=stage, retryable=True, chapter_number=chapter_number, spent=spent)


class PromptTooLong(UpstreamAIError):
    """A request does not fit the model's context window. `window`: the tokens that one may have, with the room for its
    reply, as `words.tokens` counts them."""

    def __init__(
        self, message: str, window: int, *, stage: str, chapter_number: int | None, spent: tuple[Spent, ...] = ()
    ) -> None:
        super().__init__(message, stage=stage, retryable=False, chapter_number=chapter_number, spent=spent)
        self.window = window


@dataclass(frozen=True, slots=True)
class TextReply:
    """`model` is the name that answered (a fallback may), as in the price table and the ledger. `usage` is of the
    call that answered alone; `also` of those before it that did not. `json_mode`: how JSON was asked for, where a
    server was found to know only some of the ways."""

    text: str
    stop: StopReason
    usage: Usage
    model: str
    also: tuple[Spent, ...] = ()
    json_mode: str = ""
    call_id: UUID = field(default_factory=uuid4, compare=False)

    @property
    def spent(self) -> tuple[Spent, ...]:
        """All that the reply has cost."""
        return (*self.also, Spent(self.model, self.usage, self.call_id))

    @property
    def is_sample(self) -> bool:
        """Whether no model wrote it. Samples are in a few languages only, whatever that of the book."""
        return self.model == "offline"


@runtime_checkable
class Patient(Protocol):
    """A model whose runs sit outages out."""

    @property
    def outage(self) -> Outage | None: ...


@runtime_checkable
class Discovering(Protocol):
    """A model or provider whose name may be found out by asking its server. Until then it ends in THE_ONLY_ONE."""

    async def find_name(self) -> None:
        """Asks the server for the name, if it is not known. Any failure leaves it unknown."""


def known_name(model: TextModel) -> str | None:
    """The model's name; None where its server has not told it yet."""
    return None if model.name.endswith(f":{THE_ONLY_ONE}") else model.name


@runtime_checkable
class Refusable(Protocol):
    """A model whose provider may refuse this server. `refusals`: since when it does and why, by the model's name."""

    @property
    def refusals(self) -> Mapping[str, Outage]: ...


def refusals_of(model: object) -> Mapping[str, Outage]:
    """The providers behind the model that refuse this server's key or credit now."""
    return model.refusals if isinstance(model, Refusable) else {}


@dataclass(frozen=True, slots=True)
class ShownSpeed:
    """What a model has shown: the tokens that it writes a second, and the seconds that it reads a token of a prompt."""

    tokens_a_second: float
    seconds_a_token_read: float


@runtime_checkable
class Timed(Protocol):
    """A model or provider that notes how fast its server is. None before its first reply."""

    @property
    def shown_speed(self) -> ShownSpeed | None: ...


@runtime_checkable
class Limited(Protocol):
    """A provider that notes what its server tells of its limits. `calls_at_once`: so many have room in them; None where
    nothing is told."""

    @property
    def calls_at_once(self) -> int | None: ...


CALL_SECONDS = 180.0  # which bound a call unless something else is set or seen


@runtime_checkable
class Bounded(Protocol):
    """A model or provider that bounds its calls. `call_seconds`: the longest bound under way, else the last one."""

    @property
    def call_seconds(self) -> float: ...


def bound_of(model: object) -> float:
    """The seconds for which a call of the model may be under way."""
    return model.call_seconds if isinstance(model, Bounded) else CALL_SECONDS


@runtime_checkable
class Shared(Protocol):
    """A model whose provider's limits hold for all processes of the service together."""

    def tell_busy(self, tell: Callable[[str, float], None]) -> None:
        """Has `tell` called with the name of the model and the seconds for which its provider wants no call."""

    def share(self, processes: int) -> None:
        """Keeps to the part of one of so many processes."""

    def hold_back(self, name: str, seconds: float) -> None:
        """Makes no call of the model `name` for so long: another process was told so."""


class TextModel(Protocol):
    """Raises UpstreamAIError for every failure, after its own retries; cancelling closes the connection, and
    `spent_before` tells what was spent by then.

    A refusal is a reply: its stop is REFUSAL and its text empty, so that what it cost can be entered.
    """

    @property
    def name(self) -> str: ...

    async def complete(self, request: TextRequest) -> TextReply: ...

    async def close(self) -> None: ...
