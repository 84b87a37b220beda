"""Reads a book as a proofreader: the survey of the whole, then the model chapter by chapter, as one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.models import Book, Chapter, Severity, SuggestionType
from bookgen.threads import compute
from bookgen.writing.proofreading import edits
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.merge import merged
from bookgen.writing.proofreading.survey import Survey
from bookgen.writing.steps import Steps
from bookgen.writing.window import fitted


async def read_chapter(
    book: Book, chapter: Chapter, seen: Survey, flags: Sequence[Mapping[str, Any]], steps: Steps
) -> list[Correction]:
    """The corrections of one chapter, none overlapping another. `flags` are the quality gate's findings of it.

    Raises UpstreamAIError; CallsHalted.
    """

    async def read(context: int) -> list[Correction]:
        found: list[Correction] = []
        most = edits.longest(book.content_language, context)
        for window in await compute(edits.windows, chapter.content, most):
            found += await edits.proposed(book, chapter, window, seen.names, steps, context)
        return found

    proposed = await fitted(read)
    return await compute(_together, chapter, seen, flags, proposed)


def _together(
    chapter: Chapter, seen: Survey, flags: Sequence[Mapping[str, Any]], proposed: Sequence[Correction]
) -> list[Correction]:
    """What the survey, the quality gate and the model say of the chapter."""
    certain, checked = seen.of(chapter)
    return merged([*_continuity(chapter.content, flags), *certain], proposed, checked)


def _continuity(content: str, flags: Sequence[Mapping[str, Any]]) -> list[Correction]:
    """Contradictions that the quality gate has flagged. What is right only the author knows: nothing is replaced."""
    found = []
    for flag in flags:
        excerpt = str(flag["excerpt"])
        start = content.find(excerpt) if flag["kind"] == "contradiction" and excerpt else -1
        if start >= 0:
            reason = Reason(SuggestionType.CONTINUITY, Severity.MAJOR, str(flag["detail"]), "quality_gate")
            found.append(Correction.at(content, start, start + len(excerpt), excerpt, reason))
    return found
