"""What all actors of a process share. An operator's command uses a smaller replacement, OperatorProcess."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol, TypeAlias
from uuid import UUID, uuid4

import asyncpg

from bookgen.actors.health import Backlog, Health, LedgerWrites
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.files.keeping import Files
from bookgen.models import SAMPLE_WRITER, Book, Chapter, Digest, ProcessRole, RevisionMode, Run, Usage
from bookgen.providers.images import PaidPicture
from bookgen.providers.text import CALL_SECONDS, CallBudget, HaltSwitch, Outage, TextModel, known_name
from bookgen.writing.material import ChapterDraft, Material, Outline, OutlineChapter, Scene
from bookgen.writing.passage import ChosenPassage
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.steps import Steps
from bookgen.writing.window import WINDOW


class WriteChapter(Protocol):
    """Writes a chapter. `on_words` receives the number of words so far.

    `on_digest` receives new digests (summaries for later chapters) of earlier chapters, which are worth storing even if
    the chapter itself fails.
    """

    def __call__(
        self,
        material: Material,
        number: int,
        steps: Steps,
        on_words: Callable[[int], None] = ...,
        on_digest: Callable[[Digest], None] = ...,
        /,
    ) -> Coroutine[Any, Any, ChapterDraft]: ...


@dataclass(frozen=True, slots=True)
class Writing:
    """The functions of `bookgen.writing` that write the parts of a book.

    `rework_chapters` takes the numbers of chapters and the author's instructions, and returns new outlines by number.
    `note_rest` makes the missing digests (summaries for later chapters).
    """

    draft_outline: Callable[[Book, Steps], Awaitable[Outline]]
    rework_chapters: Callable[[Material, Sequence[int], str, Steps], Awaitable[dict[int, OutlineChapter]]]
    write_chapter: WriteChapter
    draft_blurb: Callable[[Material, Steps], Awaitable[str]]
    rewrite_passage: Callable[[Material, ChosenPassage, Steps], Awaitable[Correction]]
    note_rest: Callable[[Material, Steps], AsyncIterator[Digest]]


class PaintsSpreads(Protocol):
    """Paints the pictures of children's books. `sheet` makes the hero's picture, which all other pictures follow.

    `spread` makes the picture of a chapter, which fills two facing pages. Both raise CallsHalted after `halt` is set,
    and UpstreamAIError for any failure; the error's `spent` lists the calls that cost money.
    """

    @property
    def outage(self) -> Outage | None: ...

    async def sheet(self, book: Book, budget: CallBudget | None, halt: HaltSwitch, /) -> PaidPicture: ...

    async def spread(
        self,
        book: Book,
        chapter: Chapter,
        scene: Scene,
        sheet: bytes | None,
        budget: CallBudget | None,
        halt: HaltSwitch,
        /,
    ) -> PaidPicture: ...


Save: TypeAlias = Callable[[asyncpg.Connection], Awaitable[None]]


class PaintCover(Protocol):
    """Makes a cover for a run. Returns a function that stores and selects it; None if the book has a selected cover.

    Setting `halt` ends the wait for the model. Raises UpstreamAIError if the model fails, and QuotaExceeded or
    PlanUpgradeRequired if the account may not have the cover.
    """

    def __call__(self, account_id: int, book_id: int, run_id: UUID, halt: HaltSwitch, /) -> Awaitable[Save | None]: ...


@dataclass(frozen=True, slots=True)
class Products:
    """The functions with which a production (a run that makes a whole book) makes what it needs besides the text.

    Each function can be repeated. `correct(account_id, run_id)` applies those suggestions of the run's report that only
    correct spelling or punctuation. `make_files(account_id, book_id)` makes the export files of the book.
    """

    paint_cover: PaintCover
    correct: Callable[[int, UUID], Awaitable[None]]
    make_files: Callable[[int, int], Awaitable[None]]


class Deciding(Protocol):
    """What transactions on runs need from the process. `writes_runs`: whether it writes runs itself, under a lease."""

    @property
    def pool(self) -> asyncpg.Pool: ...

    @property
    def quota(self) -> Quota: ...

    @property
    def boot_id(self) -> UUID: ...

    @property
    def writes_runs(self) -> bool: ...

    @property
    def takes_runs(self) -> bool: ...

    @property
    def awaits_operator(self) -> bool: ...

    @property
    def call_seconds(self) -> float: ...

    @property
    def blurb_queued(self) -> asyncio.Event: ...


class LeaseState(Enum):
    """The state of this process's lease."""

    NONE = auto()  # not taken yet, or lost: another process may have the runs
    HELD = auto()
    RUN_OUT = auto()  # expired while no other process was running, so nobody has the runs


@dataclass(slots=True)
class Resources:
    """The shared parts and the state of this process.

    `boot_id` identifies the process in the database; it changes when the lease (the right to write runs) is lost.
    `other_processes`: the number of other live processes. `names_model`: whether the operator named the model,
    instead of leaving the choice to the API keys. `revision`: what a production (a run that makes a whole book) does
    with its editor's findings. `context_tokens`: the context window, in tokens, of a call that reads the whole book.
    `draining`: whether the process ends soon, so that it begins no chapter and makes no model call. `blurb_queued` is
    set when a blurb may be waiting. `awaits_operator`: whether the database is a restored copy, in which nothing is
    written until the operator lets its runs continue.
    """

    pool: asyncpg.Pool
    lease_pool: asyncpg.Pool
    quota: Quota
    writing: Writing
    products: Products
    model: TextModel
    price: Callable[[str, Usage], int | None]
    caps: CostCaps
    painter: PaintsSpreads
    names_model: bool = False
    revision: RevisionMode = RevisionMode.OFF
    context_tokens: int = WINDOW
    role: ProcessRole = ProcessRole.BOTH
    files: Files = field(default_factory=Files)
    boot_id: UUID = field(default_factory=uuid4)
    lease_state: LeaseState = LeaseState.NONE
    draining: bool = False
    awaits_operator: bool = False
    other_processes: int = 0
    health: Health = field(default_factory=Health)
    backlog: Backlog = field(default_factory=Backlog)
    ledger_writes: LedgerWrites = field(default_factory=LedgerWrites)
    blurb_queued: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def writer(self) -> str | None:
        """The name of this process's model; None if its server has not reported it yet."""
        return known_name(self.model)

    async def find_writer(self) -> None:
        """Ask the model's server for the model's name if it is unknown."""
        if self.writer is None:
            await self.model.find_name()

    @property
    def may_replace_writer(self) -> bool:
        """Whether this process may continue runs that another model has begun.

        It may if the operator named its model. A process with the sample model never may.
        """
        return self.names_model and self.model.name != SAMPLE_WRITER

    @property
    def can_read(self) -> bool:
        """Whether this process has a model that can read a book. The sample model cannot."""
        return self.model.name != SAMPLE_WRITER

    def may_write(self, run: Run) -> bool:
        """Whether this process may write the run with its model. `store.writers.may_write` is the same rule in SQL."""
        return self.may_replace_writer or not run.keeps_writer or run.writer == self.writer

    @property
    def writes_runs(self) -> bool:
        return self.role.takes_work

    @property
    def has_lease(self) -> bool:
        """Whether this process has a valid lease and does not drain.

        Without a lease, other processes take this process for dead, and release what it has reserved.
        """
        return self.lease_state is LeaseState.HELD and not self.draining

    @property
    def takes_runs(self) -> bool:
        """Whether this process can take runs. Without a lease it cannot: other processes would take them back."""
        return self.has_lease and self.writes_runs

    @property
    def begins_work(self) -> bool:
        """Whether this process starts work that nobody waits for, such as runs, reports and blurbs."""
        return self.takes_runs and not self.awaits_operator

    @property
    def call_seconds(self) -> float:
        """How many seconds a call in flight may last."""
        return self.model.call_seconds

    @property
    def outage(self) -> Outage | None:
        """The current outage of the model; None if there is none. Runs wait until the outage ends."""
        return self.model.outage

    @property
    def outage_of_pictures(self) -> Outage | None:
        """The current outage of the image model; None if there is none. Runs wait until the outage ends."""
        return self.painter.outage


@dataclass(frozen=True, slots=True)
class OperatorProcess:
    """The process of an operator's command. It writes no runs: a run that it resumes waits for a server to claim it."""

    pool: asyncpg.Pool
    quota: Quota
    boot_id: UUID = field(default_factory=uuid4)
    writes_runs: bool = False
    takes_runs: bool = False
    awaits_operator: bool = False
    call_seconds: float = CALL_SECONDS
    blurb_queued: asyncio.Event = field(default_factory=asyncio.Event)
