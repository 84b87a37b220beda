"""Computes a book's outline after an author's changes. Nothing is stored here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.errors import InvalidInput
from bookgen.models import Book, Chapter

MAX_CHAPTERS = 100


@dataclass(frozen=True, slots=True)
class RevisedChapter:
    """One chapter of a revised outline. `chapter`: the existing chapter to change; None for a new chapter."""

    chapter: Chapter | None
    title: str
    summary: str
    target_word_count: int
    plan: Mapping[str, Any]

    @property
    def as_before(self) -> bool:
        before = self.chapter
        return before is not None and (before.title, before.summary, before.target_word_count, before.plan) == (
            self.title,
            self.summary,
            self.target_word_count,
            self.plan,
        )


def revised_chapters(
    book: Book, existing: Sequence[Chapter], entries: Sequence[Mapping[str, Any]], *, replace: bool
) -> list[RevisedChapter]:
    """The chapters of the revised outline, in order.

    An entry changes the chapter with its `id` or `chapter_number`. If there is no such chapter, the entry adds one.
    With `replace`, chapters without an entry are removed, and the chapters get the order of the entries.

    Raises InvalidInput if an `id` does not belong to the book, if two entries name the same chapter, if a new chapter
    has no title, or if the outline would be empty or have more than MAX_CHAPTERS chapters.
    """
    known = {chapter.id for chapter in existing}
    if unknown := sorted({entry["id"] for entry in entries if "id" in entry} - known):
        raise InvalidInput(
            chapters=[
                f"These chapter ids do not belong to this book: {', '.join(map(str, unknown))}. Read its chapters "
                "(GET /books/{id}/). To add a chapter, leave `id` out."
            ]
        )
    matches = [_match(existing, entry) for entry in entries]
    named = [chapter.id for chapter in matches if chapter]
    if len(named) != len(set(named)):
        raise InvalidInput(chapters=["Two entries refer to the same chapter. Name each chapter once."])
    of_chapter = {chapter.id: entry for chapter, entry in zip(matches, entries, strict=True) if chapter}
    added = [entry for chapter, entry in zip(matches, entries, strict=True) if chapter is None]
    count = len(entries) if replace else len(existing) + len(added)
    if count > MAX_CHAPTERS or (count == 0 and replace):
        raise InvalidInput(chapters=[f"An outline must have 1 to {MAX_CHAPTERS} chapters (got {count})."])
    budget = max(1, book.target_word_count // max(1, count))
    if replace:
        return [_revised(chapter, entry, budget) for chapter, entry in zip(matches, entries, strict=True)]
    kept = [_revised(chapter, of_chapter.get(chapter.id, {}), budget) for chapter in existing]
    return kept + [_revised(None, entry, budget) for entry in added]


def _match(existing: Sequence[Chapter], entry: Mapping[str, Any]) -> Chapter | None:
    """The chapter that an entry refers to, by its id or else by its number; None if there is no such chapter."""
    by_id = next((chapter for chapter in existing if chapter.id == entry.get("id")), None)
    return by_id or next((c for c in existing if c.chapter_number == entry.get("chapter_number")), None)


def _revised(chapter: Chapter | None, entry: Mapping[str, Any], budget: int) -> RevisedChapter:
    """The chapter as changed by the entry. `budget`: the word target of a new chapter whose entry has none."""
    if chapter is None and "title" not in entry:
        raise InvalidInput(
            chapters=["An entry that matches no chapter by `id` or `chapter_number` adds one, so it needs a title."]
        )
    return RevisedChapter(
        chapter,
        entry.get("title", chapter.title if chapter else ""),
        entry.get("summary", chapter.summary if chapter else ""),
        entry.get("target_word_count", chapter.target_word_count if chapter else budget),
        _planned(chapter.plan if chapter else {}, entry.get("plan", {})),
    )


def _planned(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The chapter's plan with the fields in `changes` replaced. A field whose new value is empty is removed."""
    return {name: value for name, value in {**before, **changes}.items() if value}
