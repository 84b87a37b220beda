"""A book as its proofreader reads it: what there is to suggest, chapter by chapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps
from bookgen.billing.checks import most_bytes
from bookgen.errors import must_exist
from bookgen.models import Book, Chapter, Unread
from bookgen.store import books, chapters
from bookgen.store.suggestions import NewSuggestion
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.placing import fingerprint
from bookgen.writing.proofreading.reading import read_chapter
from bookgen.writing.proofreading.survey import Survey, survey


@dataclass(frozen=True, slots=True)
class ChapterReading:
    """What came of reading a chapter. `unread`: it, where the model has not read all of it."""

    rows: Sequence[NewSuggestion] = ()
    unread: Sequence[Unread] = ()


@dataclass(frozen=True, slots=True)
class BookReading:
    """A book that is being read, a chapter of it at a time; `flags` are the findings of the quality gate.

    Of no more than `most` bytes, if it is not None: what its author makes longer meanwhile is not read any more.
    `taken` are those of the chapters that were.
    """

    resources: Resources
    book: Book
    chapter_ids: Sequence[int]
    flags: Sequence[Mapping[str, Any]]
    seen: Survey
    most: int | None
    taken: dict[int, int] = field(default_factory=dict)

    @classmethod
    async def begin(cls, resources: Resources, account_id: int, book_id: int) -> BookReading:
        """With the chapters that are written, in order. NotFound; ProofreadingFailed."""
        through_outages, pool = resources.health.through_outages, resources.pool
        book = must_exist(await through_outages(lambda: books.find(pool, account_id, book_id)))
        has_text = await through_outages(lambda: chapters.have_text(pool, book_id))
        written = [chapter_id for chapter_id, has in has_text.items() if has]
        flags = await through_outages(lambda: chapters.findings(pool, book_id))
        plan = await through_outages(lambda: resources.quota.plan(pool, account_id))
        seen = await survey(book, _each(resources, account_id, written))
        return cls(resources, book, written, flags, seen, most_bytes(plan, book))

    async def chapter(self, chapter_id: int, steps: StoredSteps) -> ChapterReading:
        """What there is to suggest in the chapter as it is now, nothing when it is gone; its replies are stored by
        then. UpstreamAIError; CallsHalted."""
        chapter = await _load(self.resources, self.book.account_id, chapter_id)
        if chapter is None or not self._takes(chapter):
            return ChapterReading()
        flags = [flag for flag in self.flags if flag["chapter_number"] == chapter.chapter_number]
        found, unread = await read_chapter(self.book, chapter, self.seen, flags, steps)
        await steps.settle()
        return ChapterReading([_row(chapter, correction) for correction in found], [unread] if unread else [])

    def _takes(self, chapter: Chapter) -> bool:
        size = len(chapter.content.encode())
        if self.most is not None and sum(self.taken.values()) + size > self.most:
            return False
        self.taken[chapter.id] = size
        return True


async def _each(resources: Resources, account_id: int, chapter_ids: Sequence[int]) -> AsyncIterator[Chapter]:
    for chapter_id in chapter_ids:
        if chapter := await _load(resources, account_id, chapter_id):
            yield chapter


async def _load(resources: Resources, account_id: int, chapter_id: int) -> Chapter | None:
    return await resources.health.through_outages(lambda: chapters.find(resources.pool, account_id, chapter_id))


def _row(chapter: Chapter, correction: Correction) -> NewSuggestion:
    return NewSuggestion(
        chapter_id=chapter.id,
        type=correction.reason.type,
        severity=correction.reason.severity,
        original_text=correction.original,
        suggested_text=correction.replacement,
        explanation=correction.reason.explanation,
        source=correction.reason.source,
        start_offset=correction.start,
        end_offset=correction.end,
        prefix=correction.prefix,
        suffix=correction.suffix,
        content_version=chapter.content_version,
        fingerprint=fingerprint(correction),
    )
