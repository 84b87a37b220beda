"""Work that takes minutes: a chapter of a run (the writing of a book), or another phase of a production.

A production is a run that makes a whole book. Each piece of work is a task of its own. This module defines how work is
halted, what its result is, and how its failures are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from bookgen import metrics
from bookgen.actors.messages import PhaseDone, RunFailure, WorkFailed, WorkHalted
from bookgen.actors.resources import Save
from bookgen.actors.run_transitions import STAGES, failure_at
from bookgen.actors.steps import StoredSteps, TextDropped
from bookgen.errors import (
    BookgenError,
    Conflict,
    CostCapReached,
    InvalidInput,
    NotFound,
    PlanUpgradeRequired,
    ProofreadingFailed,
    QuotaExceeded,
    UpstreamAIError,
)
from bookgen.models import Chapter, ChapterStatus, Digest, Run, RunPhase, RunStatus
from bookgen.providers.text import CallsHalted
from bookgen.store.checkpoints import Checkpoint, FinishedChapter
from bookgen.store.material import MAX_TEXT_CHARACTERS
from bookgen.writing.material import ChapterDraft, Material

R = TypeVar("R")


class PhaseFailed(BookgenError):
    """A part of the production could not be made. Resume the run to try again."""


CODES: Mapping[type[BookgenError], str] = {
    CostCapReached: "COST_CAP_REACHED",
    TextDropped: "SERVICE_UNAVAILABLE",
    UpstreamAIError: "UPSTREAM_AI_ERROR",
    QuotaExceeded: "QUOTA_EXCEEDED",
    PlanUpgradeRequired: "PLAN_UPGRADE_REQUIRED",
    PhaseFailed: "SERVICE_UNAVAILABLE",
    ProofreadingFailed: "SERVICE_UNAVAILABLE",
    InvalidInput: "VALIDATION_ERROR",
    Conflict: "CONFLICT",
}
metrics.start_at_zero(metrics.RUNS_ENDED, [RunStatus.COMPLETED, RunStatus.STOPPED], [""])
metrics.start_at_zero(metrics.RUNS_ENDED, [RunStatus.ERROR], [*CODES.values(), "stalled", "quarantined"])

# Any work may reach the limits of the plan, or of the allowance that is held for the book.
SPENT = (PlanUpgradeRequired, QuotaExceeded)


def code_of(error: BookgenError) -> str:
    return next(code for kind, code in CODES.items() if isinstance(error, kind))


@dataclass(slots=True, eq=False)
class WorkInFlight(Generic[R]):
    """The work on a run. `run` is the run's row when the work was announced.

    The result is accepted only if the row still has the same epoch (it grows with each process that takes the run) and
    call number. `has_place`: whether the work has one of the places for concurrent work. `words`: the words written so
    far. `stalled`: whether the work was given up because it made no progress.
    """

    run: Run
    steps: StoredSteps
    has_place: bool = False
    stalled: bool = False
    words: int = 0
    task: asyncio.Task[R] = field(init=False)

    def halt(self) -> None:
        """Make no further model call. A call in flight may finish, and its reply is stored."""
        self.steps.halt.set()
        if not self.has_place:
            self.cancel()

    def stall(self) -> None:
        """Give up the work because it has made no progress for too long."""
        self.stalled = True
        self.cancel()

    def go_on(self) -> None:
        self.steps.halt.clear()

    def cancel(self) -> None:
        self.task.cancel()

    def shrink(self) -> None:
        """Free memory that is not needed while the work waits for the database."""

    def outcome(self, task: asyncio.Task[R]) -> R | WorkFailed | WorkHalted:
        """Return the result of the work's task. An unexpected error is raised, which crashes the actor."""
        try:
            return task.result()
        except (CallsHalted, NotFound, asyncio.CancelledError):
            if self.stalled:
                return WorkFailed(self.run.id, self.run.epoch, self.run.call_no, stalled(self.run), spoilt=True)
            return WorkHalted(self.run.id, self.run.epoch, self.run.call_no)
        except SPENT as error:
            return self.failed(error)
        except UpstreamAIError as error:
            return self.failed(error, spoilt=self.steps.failed is None)

    def words_of_its_failure(self) -> int:
        """Return how many words were requested in paid calls that brought no text, if the ended task has failed.

        0 if the task was cancelled or succeeded.
        """
        error = None if self.task.cancelled() else self.task.exception()
        failed = isinstance(error, UpstreamAIError) and not isinstance(error, CallsHalted)
        return self.steps.words_lost(self.run.draft_words) if failed else 0

    def failed(self, error: BookgenError, *, spoilt: bool = False) -> WorkFailed:
        """Return the event that ends the run because of an expected error.

        The failure is retryable unless the error says otherwise. `spoilt`: whether the stored replies are unusable.
        """
        stage, number, retryable, lost = STAGES[self.run.phase], self.run.current_chapter, True, 0
        if isinstance(error, UpstreamAIError):
            stage, number, retryable = error.stage, error.chapter_number or number, error.retryable
            lost = self.steps.words_lost(self.run.draft_words)
        failure = RunFailure(code_of(error), str(error), stage, number, retryable)
        return WorkFailed(self.run.id, self.run.epoch, self.run.call_no, failure, spoilt, lost)


def stalled(run: Run) -> RunFailure:
    what = f"Chapter {run.current_chapter}" if run.phase is RunPhase.CHAPTERS else f"The {run.phase}"
    return failure_at(run, "stalled", f"{what} made no progress for 15 minutes. Resume the run to try again.")


@dataclass(frozen=True, slots=True)
class Written:
    """A chapter as it was when its writing began, and its new text."""

    chapter: Chapter
    draft: ChapterDraft


@dataclass(slots=True, eq=False)
class ChapterWork(WorkInFlight[Written]):
    """The work on a chapter. `material`: the book, set when a place for concurrent work is free.

    `earlier`: the digests of earlier chapters that the model made during this work, because they had no up-to-date
    digest.
    """

    material: Material | None = None
    earlier: list[Digest] = field(default_factory=list)

    def hear_of(self, words: int) -> None:
        self.words = self.steps.draft_words = words

    def shrink(self) -> None:
        self.material = None

    def begin_writing(self, material: Material) -> Chapter:
        """Note that the work has one of the places for concurrent work, and return the chapter to write.

        Raises CallsHalted if there is nothing to write, because the author has deleted the chapter or written its text.
        """
        self.has_place, self.material = True, material
        number = self.run.current_chapter
        chapter = next((c for c in material.chapters if c.chapter_number == number), None)
        if chapter is None or (chapter.content and chapter.rewrite_run != self.run.id):
            raise CallsHalted("chapter", number)
        return chapter

    def finished(self, written: Written) -> FinishedChapter:
        """Return what to save in the database: the new chapter, and the model's last reply if it is not stored yet."""
        draft = written.draft
        return FinishedChapter(
            run_id=self.run.id,
            epoch=self.run.epoch,
            call_no=self.run.call_no,
            chapter_id=written.chapter.id,
            seen=written.chapter.content_version,
            content=draft.content,
            word_count=draft.word_count,
            quality=draft.notes(),
            digest=draft.digest,
            step=self.steps.unstored,
            original=draft.original,
            original_words=draft.original_words,
            writer=draft.writer,
        )

    def material_after(self, written: Written, checkpoint: Checkpoint) -> Material | None:
        """Return the book with its new chapter.

        None if `updated_at` shows that someone else has changed the book, or if the new text is too long to be kept
        whole.
        """
        if self.material is None or self.material.book.updated_at != checkpoint.book_updated_at:
            return None
        if len(written.draft.content) > MAX_TEXT_CHARACTERS:
            return None
        former, draft = written.chapter, written.draft
        chapter = replace(
            former,
            content=draft.content,
            word_count=draft.word_count,
            status=ChapterStatus.COMPLETED,
            content_version=former.content_version + 1,
            rewrite_run=None,
            writer=draft.writer,
        )
        chapters = tuple(chapter if each is former else each for each in self.material.chapters)
        made = {digest.chapter_number: digest for digest in (*self.earlier, draft.digest) if digest}
        digests = {**self.material.digests, **made}
        return replace(self.material, chapters=chapters, digests=digests, in_parts=draft.in_parts)


FORESEEN = (*SPENT, PhaseFailed, InvalidInput, Conflict)


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """The result of a phase. `save` writes it in the transaction that ends the phase; None: nothing to write.

    `chapters`: the number of chapters of a drafted outline. `remark`: a sentence for the owner, such as which step was
    skipped, or how many findings the editor's reading had; empty if there is nothing to say.

    `remark_without`: the remark if `save` raises QuotaExceeded, so that the phase ends without a result. If
    `remark_without` is empty, the run fails instead.
    """

    save: Save | None = None
    chapters: int | None = None
    remark: str = ""
    remark_without: str = ""


@dataclass(slots=True, eq=False)
class PhaseWork(WorkInFlight[PhaseResult]):
    """The work of a phase that writes no chapter."""

    def outcome(self, task: asyncio.Task[PhaseResult]) -> PhaseResult | WorkFailed | WorkHalted:
        try:
            return WorkInFlight.outcome(self, task)
        except FORESEEN as error:
            return self.failed(error)

    def done(self, result: PhaseResult) -> PhaseDone:
        """Return the event for the end of the phase."""
        run = self.run
        return PhaseDone(run.id, run.epoch, run.call_no, run.phase, result.chapters, result.remark)
