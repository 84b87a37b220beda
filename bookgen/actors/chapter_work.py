"""The work on one chapter of a run, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bookgen.actors.work_in_flight import WorkInFlight
from bookgen.models import Chapter, ChapterStatus, Digest
from bookgen.providers.text import CallsHalted
from bookgen.store.checkpoints import Checkpoint, FinishedChapter
from bookgen.store.material import MAX_TEXT_CHARACTERS
from bookgen.writing.material import ChapterDraft, Material


@dataclass(frozen=True, slots=True)
class Written:
    """A chapter as it was when its writing began, and what was written."""

    chapter: Chapter
    draft: ChapterDraft


@dataclass(slots=True, eq=False)
class ChapterWork(WorkInFlight[Written]):
    """The work on a chapter. `material` is what it is written from, once it has its place; `earlier` are the digests
    that had to be made of earlier chapters."""

    material: Material | None = None
    earlier: list[Digest] = field(default_factory=list)

    def hear_of(self, words: int) -> None:
        self.words = self.steps.draft_words = words

    def shrink(self) -> None:
        self.material = None

    def place(self, material: Material) -> Chapter:
        """The announced chapter, to be written from `material`. CallsHalted when an author's edit was faster."""
        self.placed, self.material = True, material
        number = self.run.current_chapter
        chapter = next((c for c in material.chapters if c.chapter_number == number), None)
        if chapter is None or (chapter.content and chapter.rewrite_run != self.run.id):
            raise CallsHalted("chapter", number)
        return chapter

    def finished(self, written: Written) -> FinishedChapter:
        """The chapter as it goes into the database, with the last reply if that is not stored yet."""
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
        """The book with its new chapter. None if `updated_at` shows that someone else changed it.

        None also for a text that is too long to be kept whole.
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
