"""Reads a book as a proofreader: rules over the whole of it, then the model chapter by chapter, as one list."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.models import Book, Chapter, Severity, SuggestionType
from bookgen.writing.proofreading import edits, rules
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.merge import merged
from bookgen.writing.steps import Steps
from bookgen.writing.voice import has_refrains
from bookgen.writing.window import fitted


@dataclass(frozen=True, slots=True)
class Survey:
    """What rules and a checker see in a book, by chapter id; a checker's with whether each has proved right."""

    rules: Mapping[int, Sequence[Correction]]
    checker: Mapping[int, Sequence[tuple[Correction, bool]]]
    names: tuple[str, ...]


async def survey(book: Book, chapters: Sequence[Chapter]) -> Survey:
    """In a thread: a long book takes seconds."""
    return await asyncio.to_thread(_survey, book, chapters)


def _survey(book: Book, chapters: Sequence[Chapter]) -> Survey:
    text = BookText.of(book, chapters)
    checker: defaultdict[int, list[tuple[Correction, bool]]] = defaultdict(list)
    if text.primary == "en":
        from bookgen.writing.proofreading import english  # the checker takes a second and 100 MB to load

        for chapter_id, correction, proven in english.corrections(text, book.content_language):
            checker[chapter_id].append((correction, proven))
    found = rules.check(text, refrains=has_refrains(book.genre))
    return Survey(found, checker, tuple(sorted(text.names)))


async def read_chapter(
    book: Book, chapter: Chapter, seen: Survey, flags: Sequence[Mapping[str, Any]], steps: Steps
) -> list[Correction]:
    """The corrections of one chapter, none overlapping another. `flags` are the quality gate's findings of it.

    Raises UpstreamAIError; CallsHalted.
    """

    async def read(context: int) -> list[Correction]:
        found: list[Correction] = []
        for window in edits.windows(chapter.content, edits.longest(book.content_language, context)):
            found += await edits.proposed(book, chapter, window, seen.names, steps, context)
        return found

    proposed = await fitted(read)
    certain = [*_continuity(chapter.content, flags), *seen.rules.get(chapter.id, ())]
    return merged(certain, proposed, seen.checker.get(chapter.id, ()))


def _continuity(content: str, flags: Sequence[Mapping[str, Any]]) -> list[Correction]:
    """Contradictions that the quality gate has flagged. What is right only the author knows: nothing is replaced."""
    found = []
    for flag in flags:
        excerpt = str(flag["excerpt"])
        start = content.find(excerpt) if flag["kind"] == "contradiction" and excerpt else -1
        if start >= 0:
            kind, severity, end = SuggestionType.CONTINUITY, Severity.MAJOR, start + len(excerpt)
            found.append(Correction(start, end, excerpt, excerpt, kind, severity, str(flag["detail"]), "quality_gate"))
    return found
