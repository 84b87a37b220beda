"""Facts of a story, and what later chapters must know about earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FactKind(StrEnum):
    """What a fact of the story is about."""

    PERSON = "person"
    PLACE = "place"
    OBJECT = "object"
    STATE = "state"
    TIME = "time"
    KNOWLEDGE = "knowledge"
    THREAD_OPENED = "thread_opened"
    THREAD_CLOSED = "thread_closed"


class FactEvent(StrEnum):
    """What happens to a fact's subject, for rules that compare facts.

    The comment beside a member, such as "a person; the date", says what the fact's subject is, then its value.
    """

    BORN = "born"  # a person; the date
    DIES = "dies"
    ACTS = "acts"  # a person does or says something in the story's present
    RETURNS = "returns"  # a person or an object that was taken for dead or gone is there after all
    ENTERS = "enters"  # a person; the place
    LEAVES = "leaves"  # for good
    IS_IN = "is_in"
    AT = "at"  # an object; its place or its holder
    MOVED = "moved"
    GONE = "gone"
    NOW = "now"  # the chapter; the date of what it tells
    BACK = "back"  # the chapter goes back to an earlier time
    ON = "on"  # an event; its date
    AFTER = "after"  # an event; the earlier event that it follows from
    LEARNS = "learns"  # a person; what they learn
    KNOWS = "knows"


class FactStatus(StrEnum):
    """What the author has decided about a fact."""

    SETTLED = "settled"
    INTENDED = "intended"  # contradictions to the fact are not reported
    WRONG = "wrong"  # prompts of later chapters leave the fact out


MAX_FACT_CHARACTERS = 300  # of a fact's subject, value or quote


@dataclass(frozen=True, slots=True)
class Fact:
    """What a chapter says about the story. `quote`: the passage that says so. `value`: the current value.

    If the author has corrected the value, `noted` is the value that the model had noted; otherwise it is empty.
    `status`: what the author has decided, for example that a contradiction to the fact is intended. `reason`: why.
    """

    chapter_number: int
    kind: FactKind
    subject: str
    value: str
    quote: str
    event: FactEvent | None = None
    status: FactStatus = FactStatus.SETTLED
    reason: str = ""
    noted: str = ""
    id: int = 0

    @property
    def prompt_text(self) -> str:
        """The fact as it is worded in the prompts of later chapters."""
        event = f" {self.event.replace('_', ' ')}" if self.event else ""
        intent = f" (intended: {self.reason})" if self.status is FactStatus.INTENDED and self.reason else ""
        return f"{self.subject}{event}: {self.value}{intent}"

    @property
    def is_decided(self) -> bool:
        """Whether the author has corrected the value, or has said that contradictions to the fact are intended."""
        return self.status is FactStatus.INTENDED or (bool(self.noted) and self.status is FactStatus.SETTLED)

    @property
    def is_in_prompts(self) -> bool:
        """Whether the prompts of later chapters list the fact.

        They leave out facts that the author calls wrong, and facts that only say what somebody did (`FactEvent.ACTS`).
        They list plot threads separately.
        """
        apart = self.kind in (FactKind.THREAD_OPENED, FactKind.THREAD_CLOSED) or self.event is FactEvent.ACTS
        return self.status is not FactStatus.WRONG and not apart


@dataclass(frozen=True, slots=True)
class Digest:
    """What later chapters must know about a finished chapter. `content_hash` is the hash of the text it summarises.

    `facts`, `threads_opened` and `threads_closed` are worded as prompts list them, with the author's corrections.
    `settled` are the facts that the author has corrected or whose contradictions are intended. `noted` are the facts of
    a digest that was just made; None for a digest that was read from the database.
    """

    chapter_number: int
    content_hash: str
    summary: str
    facts: tuple[str, ...] = ()
    threads_opened: tuple[str, ...] = ()
    threads_closed: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    noted: tuple[Fact, ...] | None = None
