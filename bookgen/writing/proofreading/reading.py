"""Proofreads a book: merges what rules and a checker find in the book (`Survey`) with the model's edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.errors import UpstreamAIError
from bookgen.models import Book, Chapter, Severity, SuggestionType, Unread
from bookgen.threads import compute
from bookgen.writing.proofreading import edits
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.merge import merged
from bookgen.writing.proofreading.survey import Survey
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.steps import Steps
from bookgen.writing.structured import UnusableReply
from bookgen.writing.window import fitted


async def read_chapter(
    book: Book, chapter: Chapter, seen: Survey, flags: Sequence[Mapping[str, Any]], steps: Steps
) -> tuple[list[Correction], Unread | None]:
    """The corrections of one chapter without overlaps, and what the model could not read of it (None: nothing).

    `flags`: the chapter's quality notes. Only the notes about contradictions between facts become corrections. Raises
    CallsHalted if no calls may be made now, and UpstreamAIError if a call fails for another reason than a refusal or an
    unusable reply.
    """

    async def read(context: int) -> tuple[list[Correction], Unread | None]:
        found: list[Correction] = []
        failed: list[UpstreamAIError] = []
        windows = await compute(edits.windows, chapter.content, edits.longest(book.content_language, context))
        for window in windows:
            try:
                found += await edits.proposed(book, chapter, window, steps, context, seen.mark)
            except (ModelRefused, UnusableReply) as error:
                failed.append(error)
        if not failed:
            return found, None
        refused = all(isinstance(error, ModelRefused) for error in failed)
        return found, Unread(chapter.chapter_number, refused, whole=len(failed) == len(windows))

    proposed, unread = await fitted(read)
    return await compute(_together, chapter, seen, flags, proposed), unread


def unreadable(unread: Sequence[Unread]) -> UpstreamAIError:
    """The error to report if the model could read nothing of the book: ModelRefused or UnusableReply."""
    refused = all(each.refused for each in unread)
    why = "The model refused to read the text" if refused else "No reply of the model could be used"
    kind = ModelRefused if refused else UnusableReply
    return kind(
        f"{why}. Findings of the built-in rules are kept. Another model may do better.",
        stage=edits.STAGE,
        retryable=not refused,
    )


def _together(
    chapter: Chapter, seen: Survey, flags: Sequence[Mapping[str, Any]], proposed: Sequence[Correction]
) -> list[Correction]:
    """The merged corrections of the survey, the facts and the model for the chapter."""
    certain, checked = seen.of(chapter)
    return merged([*_continuity(chapter.content, flags), *certain], proposed, checked)


def _continuity(content: str, flags: Sequence[Mapping[str, Any]]) -> list[Correction]:
    """Contradictions between facts, as corrections that change nothing: only the author knows which fact is right."""
    found = []
    for flag in flags:
        excerpt = str(flag["excerpt"])
        start = content.find(excerpt) if flag["kind"] == "contradiction" and excerpt else -1
        if start >= 0:
            reason = Reason(SuggestionType.CONTINUITY, Severity.MAJOR, str(flag["detail"]), "facts")
            found.append(Correction.at(content, start, start + len(excerpt), excerpt, reason))
    return found
