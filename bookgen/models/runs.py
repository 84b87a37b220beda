"""Runs: the writing of a book, what it costs, and the processes that do it.

A production is a run that makes the whole book: it also drafts the outline, proofreads, and makes the cover and the
files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from bookgen.models.books import SAMPLE_WRITER


class RunStatus(StrEnum):
    """The stored state of a run. `queued` is shown to callers as `running`."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    COMPLETED = "completed"
    ERROR = "error"

    @property
    def active(self) -> bool:
        return self in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)


class RunMode(StrEnum):
    FULL = "full"
    CONTINUE = "continue"
    AUTOMATED = "automated"


class RunPhase(StrEnum):
    """The phases of a run, in order.

    Only a production (a run that makes the whole book) has phases other than CHAPTERS.
    """

    OUTLINE = "outline"
    CHAPTERS = "chapters"
    REVIEW = "review"
    PROOFREADING = "proofreading"
    CORRECTIONS = "corrections"
    BLURB = "blurb"
    COVER = "cover"
    FILES = "files"


class RevisionMode(StrEnum):
    """Whether a production has an editor's reading of the whole book made, and what it does with the findings."""

    OFF = "off"  # no reading is made
    REPORT = "report"
    APPLY = "apply"  # the model, as the author, makes small edits for the findings
    COMPARE = "compare"  # as APPLY, but only edits that two blind comparisons prefer to the draft are kept

    @property
    def revises(self) -> bool:
        """Whether the model edits the text to resolve the editor's findings."""
        return self in (RevisionMode.APPLY, RevisionMode.COMPARE)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the writing of a book.

    `owner`: the process that writes the run; None if no process does.
    `epoch` grows each time a process takes the run over, and `call_no` each time a chapter or phase begins. A result
    from an earlier `epoch` or `call_no` is refused.
    `done` of `total` chapters are finished; the run itself wrote `written` of them.
    `call_started_at` is set while a chapter is being written or another phase works, even if the run was paused since.
    `makes_cover`: whether a production (a run that makes the whole book) makes a cover if the book has none.
    `remark`: a sentence for the book's author, such as which step a production has skipped.
    `draft_words`: how many words of the unfinished `current_chapter` are stored.
    `writer`: the model that writes the run; None before its first call.
    `salt`: the salt (see `StepScope`) of an earlier run whose stored replies this run can use; None without such a run.
    """

    id: UUID
    book_id: int
    account_id: int
    status: RunStatus
    mode: RunMode
    total: int
    done: int
    call_no: int
    epoch: int
    owner: UUID | None
    crash_count: int
    queue_seq: int
    current_chapter: int | None
    words_written: int
    failure: Mapping[str, Any] | None
    last_op: UUID | None
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    written: int = 0
    writing_seconds: float = 0.0
    call_started_at: datetime | None = None
    phase: RunPhase = RunPhase.CHAPTERS
    remark: str = ""
    draft_words: int = 0
    writer: str | None = None
    salt: UUID | None = None
    makes_cover: bool = True

    @property
    def keeps_writer(self) -> bool:
        """Whether only the model that began the run may continue it. Any model may continue sample text."""
        return self.writer not in (None, SAMPLE_WRITER)

    @property
    def waits_for_writer(self) -> bool:
        """Whether the run waits for a process with its model: it is running, but no process owns it."""
        return (
            self.status is RunStatus.RUNNING
            and self.owner is None
            and self.call_started_at is None
            and self.keeps_writer
        )


class ProcessRole(StrEnum):
    """What a process does: it serves requests (`web`), takes runs, reports and blurbs (`actors`), or `both`."""

    WEB = "web"
    ACTORS = "actors"
    BOTH = "both"

    @property
    def takes_work(self) -> bool:
        return self is not ProcessRole.WEB

    @property
    def answers_requests(self) -> bool:
        return self is not ProcessRole.ACTORS


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of model calls. `cost_micros`: millionths of the currency unit, only for calls with a known price.

    `unknown_price`: at least one call had no known price.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    images: int = 0
    cost_micros: int = 0
    unknown_price: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.images + other.images,
            self.cost_micros + other.cost_micros,
            self.unknown_price or other.unknown_price,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost and time of writing a whole book. `cost_micros` is None if the model's price is unknown."""

    cost_micros: int | None
    seconds: int
    calls: int
    usage: Usage
