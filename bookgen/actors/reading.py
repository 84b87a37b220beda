"""A book as its proofreader reads it: what there is to suggest, chapter by chapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.actors.material import load_whole
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps
from bookgen.models import Chapter
from bookgen.store import chapters
from bookgen.store.suggestions import NewSuggestion
from bookgen.writing.material import Material
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.placing import fingerprint
from bookgen.writing.proofreading.reading import read_chapter
from bookgen.writing.proofreading.survey import Survey, survey


@dataclass(frozen=True, slots=True)
class BookReading:
    """A book that is being read; `flags` are the findings of the quality gate."""

    material: Material
    flags: Sequence[Mapping[str, Any]]
    seen: Survey

    @classmethod
    async def begin(cls, resources: Resources, account_id: int, book_id: int) -> BookReading:
        """NotFound."""
        through_outages, pool = resources.health.through_outages, resources.pool
        material = await through_outages(lambda: load_whole(pool, account_id, book_id))
        flags = await through_outages(lambda: chapters.findings(pool, book_id))
        return cls(material, flags, await survey(material.book, material.chapters))

    @property
    def written(self) -> list[Chapter]:
        return [chapter for chapter in self.material.chapters if chapter.content.strip()]

    async def suggestions(self, chapter: Chapter, steps: StoredSteps) -> list[NewSuggestion]:
        """What there is to suggest in the chapter; its replies are stored by then. UpstreamAIError; CallsHalted."""
        flags = [flag for flag in self.flags if flag["chapter_number"] == chapter.chapter_number]
        found = await read_chapter(self.material.book, chapter, self.seen, flags, steps)
        await steps.settle()
        return [_row(chapter, correction) for correction in found]


def _row(chapter: Chapter, correction: Correction) -> NewSuggestion:
    return NewSuggestion(
        chapter_id=chapter.id,
        type=correction.type,
        severity=correction.severity,
        original_text=correction.original,
        suggested_text=correction.replacement,
        explanation=correction.explanation,
        source=correction.source,
        start_offset=correction.start,
        end_offset=correction.end,
        prefix=correction.prefix(chapter.content),
        suffix=correction.suffix(chapter.content),
        content_version=chapter.content_version,
        fingerprint=fingerprint(correction, chapter.content),
    )
