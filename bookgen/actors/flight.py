"""A chapter in flight: the work on one chapter of a run, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime

from bookgen.actors.messages import ChapterFailed, ChapterHalted, Failure
from bookgen.actors.steps import CostCapReached, StoredSteps, TextDropped
from bookgen.errors import NotFound, UpstreamAIError
from bookgen.models import Chapter, ChapterStatus, Run
from bookgen.providers.text import CallsHalted
from bookgen.store.checkpoints import Checkpoint
from bookgen.writing.material import ChapterDraft, Material

FAILURE_CODES = {CostCapReached: "COST_CAP_REACHED", TextDropped: "SERVICE_UNAVAILABLE"}
DIGEST_FIELDS = ("content_hash", "summary", "facts", "threads_opened", "threads_closed")


@dataclass(slots=True)
class ChapterInFlight:
    """A chapter being written. `run` is the row as it announced the chapter: its epoch and call number are what
    the text will be let in by. `material` is what it is written from, and `chapter` its place there; both are known
    once the work has got its turn.
    """

    run: Run
    steps: StoredSteps
    material: Material | None = None
    chapter: Chapter | None = None
    words: int = 0
    task: asyncio.Task[ChapterDraft] | None = None

    def hear_of(self, words: int) -> None:
        self.words = words

    @property
    def last(self) -> bool:
        """Whether the run likely ends with this chapter."""
        return self.run.total - self.run.done <= 1

    def find_chapter(self, material: Material) -> int:
        """The number of the announced chapter. CallsHalted when an author's hand was faster."""
        number = self.run.current_chapter
        self.material = material
        self.chapter = next((c for c in material.chapters if c.chapter_number == number), None)
        written = self.chapter and self.chapter.content and self.chapter.rewrite_run != self.run.id
        if number is None or self.chapter is None or written:
            raise CallsHalted("chapter", number)
        return number

    def outcome(self) -> ChapterDraft | ChapterFailed | ChapterHalted:
        """What came of the task. An error that is nobody's but ours is raised, and crashes the actor."""
        assert self.task is not None
        try:
            return self.task.result()
        except (CallsHalted, NotFound, asyncio.CancelledError):
            return ChapterHalted(self.run.epoch, self.run.call_no)
        except UpstreamAIError as error:
            spoilt = self.steps.failed is None
            return ChapterFailed(self.run.epoch, self.run.call_no, self._failure(error), spoilt)

    def checkpoint(self, draft: ChapterDraft) -> Checkpoint:
        """The finished chapter on its way into the database, and with it the reply that came last."""
        assert self.chapter is not None
        return Checkpoint(
            run_id=self.run.id,
            epoch=self.run.epoch,
            call_no=self.run.call_no,
            chapter_id=self.chapter.id,
            seen=self.chapter.content_version,
            content=draft.content,
            word_count=draft.word_count,
            quality=[{"kind": f.kind, "excerpt": f.excerpt, "detail": f.detail} for f in draft.findings],
            digest={name: getattr(draft.digest, name) for name in DIGEST_FIELDS} if draft.digest else None,
            step=self.steps.unstored,
        )

    def material_after(self, draft: ChapterDraft, book_updated_at: datetime | None) -> Material | None:
        """The book with its new chapter. None when it is not known: by its date somebody has changed it meanwhile."""
        if self.chapter is None or self.material is None or self.material.book.updated_at != book_updated_at:
            return None
        written = replace(
            self.chapter,
            content=draft.content,
            word_count=draft.word_count,
            status=ChapterStatus.COMPLETED,
            content_version=self.chapter.content_version + 1,
            rewrite_run=None,
        )
        chapters = tuple(written if chapter is self.chapter else chapter for chapter in self.material.chapters)
        digest = {written.chapter_number: draft.digest} if draft.digest else {}
        return replace(self.material, chapters=chapters, digests={**self.material.digests, **digest})

    def _failure(self, error: UpstreamAIError) -> Failure:
        code = next((code for kind, code in FAILURE_CODES.items() if isinstance(error, kind)), "UPSTREAM_AI_ERROR")
        number = error.chapter_number or self.run.current_chapter
        return Failure(code, str(error), error.stage, number, error.retryable)
