"""The work on one chapter of a run, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from bookgen.actors.messages import ChapterFailed, ChapterHalted, RunFailure
from bookgen.actors.steps import CostCapReached, StoredSteps, TextDropped
from bookgen.errors import NotFound, UpstreamAIError
from bookgen.models import Chapter, ChapterStatus, Run
from bookgen.providers.text import CallsHalted
from bookgen.store.material import LONGEST_TEXT
from bookgen.store.runs import Checkpoint, Saved
from bookgen.writing.material import ChapterDraft, Material

FAILURE_CODES = {CostCapReached: "COST_CAP_REACHED", TextDropped: "SERVICE_UNAVAILABLE"}
DIGEST_FIELDS = ("content_hash", "summary", "facts", "threads_opened", "threads_closed")


@dataclass(frozen=True, slots=True)
class Written:
    """A chapter as it was when its writing began, and what was written."""

    chapter: Chapter
    draft: ChapterDraft


@dataclass(slots=True, eq=False)
class ChapterWork:
    """The work on a chapter. `run` is the row that announced it: its epoch and call number let the text in.

    `placed`: the work has its place at the model. Then `material` is what the chapter is written from, and `words` are
    those written so far. `stalled`: it was given up for want of progress.
    """

    run: Run
    steps: StoredSteps
    placed: bool = False
    stalled: bool = False
    material: Material | None = None
    words: int = 0
    task: asyncio.Task[Written] = field(init=False)

    def hear_of(self, words: int) -> None:
        self.words = words

    def halt(self) -> None:
        """Makes no further model call. The one in flight may finish, and its reply is kept."""
        self.steps.closed = True
        if not self.placed:
            self.cancel()

    def stall(self) -> None:
        """Gives the chapter up: nothing has come of the last reply for too long."""
        self.stalled = True
        self.cancel()

    def go_on(self) -> None:
        self.steps.closed = False

    def cancel(self) -> None:
        self.task.cancel()

    def place(self, material: Material) -> Chapter:
        """The announced chapter, to be written from `material`. CallsHalted when an author's edit was faster."""
        self.placed, self.material = True, material
        number = self.run.current_chapter
        chapter = next((c for c in material.chapters if c.chapter_number == number), None)
        if chapter is None or (chapter.content and chapter.rewrite_run != self.run.id):
            raise CallsHalted("chapter", number)
        return chapter

    def outcome(self, task: asyncio.Task[Written]) -> Written | ChapterFailed | ChapterHalted:
        """What came of the work's task. An error that is nobody's but ours is raised, and crashes the actor."""
        try:
            return task.result()
        except (CallsHalted, NotFound, asyncio.CancelledError):
            if self.stalled:
                return ChapterFailed(self.run.epoch, self.run.call_no, stalled(self.run), spoilt=True)
            return ChapterHalted(self.run.epoch, self.run.call_no)
        except UpstreamAIError as error:
            spoilt = self.steps.failed is None
            return ChapterFailed(self.run.epoch, self.run.call_no, self._failure(error), spoilt)

    def checkpoint(self, written: Written) -> Checkpoint:
        """The finished chapter on its way into the database, and with it the reply that came last."""
        draft = written.draft
        return Checkpoint(
            run_id=self.run.id,
            epoch=self.run.epoch,
            call_no=self.run.call_no,
            chapter_id=written.chapter.id,
            seen=written.chapter.content_version,
            content=draft.content,
            word_count=draft.word_count,
            quality=[{"kind": f.kind, "excerpt": f.excerpt, "detail": f.detail} for f in draft.findings],
            digest={name: getattr(draft.digest, name) for name in DIGEST_FIELDS} if draft.digest else None,
            step=self.steps.unstored,
        )

    def material_after(self, written: Written, saved: Saved) -> Material | None:
        """The book with its new chapter. None when it is not known: by its date somebody has changed it meanwhile.

        None also for a text that is too long to be kept whole.
        """
        if self.material is None or self.material.book.updated_at != saved.book_updated_at:
            return None
        if len(written.draft.content) > LONGEST_TEXT:
            return None
        former, draft = written.chapter, written.draft
        chapter = replace(
            former,
            content=draft.content,
            word_count=draft.word_count,
            status=ChapterStatus.COMPLETED,
            content_version=former.content_version + 1,
            rewrite_run=None,
        )
        chapters = tuple(chapter if each is former else each for each in self.material.chapters)
        made = {digest.chapter_number: digest for digest in (*draft.earlier, draft.digest) if digest}
        return replace(self.material, chapters=chapters, digests={**self.material.digests, **made})

    def _failure(self, error: UpstreamAIError) -> RunFailure:
        code = next((code for kind, code in FAILURE_CODES.items() if isinstance(error, kind)), "UPSTREAM_AI_ERROR")
        number = error.chapter_number or self.run.current_chapter
        return RunFailure(code, str(error), error.stage, number, error.retryable)


def stalled(run: Run) -> RunFailure:
    return RunFailure(
        code="stalled",
        message=f"Chapter {run.current_chapter} made no progress for 15 minutes. Resume tries again.",
        stage="chapter",
        chapter_number=run.current_chapter,
        retryable=True,
    )
