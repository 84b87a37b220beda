"""Applies suggestions of proofreading reports to their chapters."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from bookgen.billing.quota import Quota
from bookgen.errors import Conflict
from bookgen.models import Chapter, ReportKind, RevisionOrigin, Suggestion, SuggestionStatus
from bookgen.services import editing
from bookgen.store import chapters, material, reports, suggestions
from bookgen.store.suggestions import EVERYTHING
from bookgen.threads import compute
from bookgen.words import count_words
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.proofreading.placing import Placement, applied, placed

if TYPE_CHECKING:
    from asyncpg import Connection, Pool

MAX_TRIES = 10


@dataclass(frozen=True, slots=True)
class AppliedSuggestions:
    """The numbers of applied and stale suggestions (their text has changed), and the ids of the changed chapters."""

    applied: int
    stale: int
    chapters: list[int]


class Corrections:
    """Applies suggestions to chapters in the database."""

    def __init__(self, pool: Pool, quota: Quota) -> None:
        self._pool = pool
        self._quota = quota

    async def apply(self, account_id: int, report_id: int, chosen: Callable[[Suggestion], bool]) -> AppliedSuggestions:
        """Apply the chosen pending suggestions, one transaction per chapter. Each replaced text becomes a revision.

        A suggestion without a replacement text stays pending.
        """
        by_chapter: defaultdict[int, set[int]] = defaultdict(set)
        stale = 0
        for each in filter(chosen, await suggestions.page(self._pool, account_id, report_id, EVERYTHING, limit=None)):
            stale += each.status is SuggestionStatus.STALE
            if each.status is SuggestionStatus.PENDING and each.suggested_text is not None:
                by_chapter[each.chapter_id].add(each.id)
        done = {chapter: await self._apply_all(account_id, chapter, ids) for chapter, ids in sorted(by_chapter.items())}
        applied, found_stale = sum(a for a, _ in done.values()), sum(s for _, s in done.values())
        return AppliedSuggestions(applied, stale + found_stale, [chapter for chapter, (a, _) in done.items() if a])

    async def apply_safe_of_run(self, account_id: int, run_id: UUID) -> None:
        """Apply the suggestions that need no review from the proofreading report of a run (the writing of a book).

        Does nothing if the run has no such report. Idempotent.
        """
        report_id = await reports.of_run(self._pool, run_id, ReportKind.PROOFREADING)
        if report_id is not None:
            await self.apply(account_id, report_id, lambda each: each.safe)

    async def update_offsets(self, account_id: int, chapter_id: int) -> None:
        """Update the offsets of the chapter's pending suggestions after the chapter's text has changed.

        If the text keeps changing, the suggestions keep their old offsets. This raises no error, since the caller only
        wants to read the suggestions.
        """
        with contextlib.suppress(Conflict):
            await self._apply(account_id, chapter_id, ())

    async def _apply_all(self, account_id: int, chapter_id: int, chosen: set[int]) -> tuple[int, int]:
        """Apply suggestions, in several transactions if needed.

        Returns how many were applied, and how many are stale.
        """
        applied = stale = 0
        while chosen:
            result = await self._apply(account_id, chapter_id, chosen)
            applied += len(result.applied)
            stale += len(chosen.intersection(result.stale))
            left = chosen.intersection(each.id for each in result.pending)
            if left == chosen:
                break
            chosen = left
        return applied, stale

    async def _apply(self, account_id: int, chapter_id: int, chosen: Collection[int]) -> Placement:
        """Apply the chosen suggestions to the chapter. Returns the new text and where the other suggestions are in it.

        The new text is computed without holding a connection. It is saved only if neither the chapter nor its
        suggestions have changed meanwhile; otherwise it is computed again.
        """
        for _ in range(MAX_TRIES):
            chapter = await chapters.find(self._pool, account_id, chapter_id)
            if chapter is None:
                return Placement("")
            pending = await suggestions.pending(self._pool, chapter_id)
            corrected = await compute(_corrected, pending, chapter, chosen)
            if await self._save(account_id, chapter, pending, corrected):
                return corrected.placement
        raise Conflict(
            "This chapter keeps changing. Stop editing it, then repeat the call (POST "
            "/proofreading-reports/{id}/apply/)."
        )

    async def _save(
        self, account_id: int, chapter: Chapter, pending: Sequence[Suggestion], corrected: CorrectedChapter
    ) -> bool:
        """Save the new text and the suggestions. Returns False if the chapter or a suggestion has changed meanwhile.

        If all applied suggestions only correct spelling or punctuation, the chapter's digest (the summary for later
        chapters) stays valid.
        """
        result = corrected.placement
        async with self._pool.acquire() as connection, connection.transaction():
            version = await chapters.lock_version(connection, account_id, chapter.id)
            if version is None:
                return False
            decided = {each.id: each.content_version for each in pending}
            if version != chapter.content_version or await suggestions.lock_pending(connection, chapter.id) != decided:
                return False
            if result.content != chapter.content:
                version = await self._replace(connection, account_id, chapter.id, corrected)
                if corrected.carries_digest:
                    await material.carry_digest(connection, chapter.id, *corrected.hashes)
            await suggestions.store_offsets(connection, result.pending, version)
            await suggestions.decide(connection, result.applied, SuggestionStatus.APPLIED)
            await suggestions.decide(connection, result.stale, SuggestionStatus.STALE)
        return True

    async def _replace(
        self, connection: Connection, account_id: int, chapter_id: int, corrected: CorrectedChapter
    ) -> int:
        """Replace the chapter's text; the old text becomes a revision. Returns the new content version."""
        saved = await editing.save_chapter(
            connection,
            self._quota,
            account_id,
            chapter_id,
            {"content": corrected.placement.content},
            RevisionOrigin.PROOFREADING,
            words=corrected.words,
        )
        return saved.chapter.content_version


@dataclass(frozen=True, slots=True)
class CorrectedChapter:
    """The result of applying suggestions to a chapter. `words`: the number of words of the new text.

    `hashes`: of the old text and of the new text. `carries_digest`: all applied suggestions only correct spelling or
    punctuation, so the chapter's digest (the summary for later chapters) stays valid.
    """

    placement: Placement
    words: int
    hashes: tuple[str, str]
    carries_digest: bool


def _corrected(pending: Sequence[Suggestion], chapter: Chapter, chosen: Collection[int]) -> CorrectedChapter:
    placement = applied(placed(pending, chapter.content, chapter.content_version), chosen)
    words = chapter.word_count if placement.content == chapter.content else count_words(placement.content)
    hashes = content_hash(chapter.content), content_hash(placement.content)
    is_safe = all(each.safe for each in pending if each.id in placement.applied)
    return CorrectedChapter(placement, words, hashes, is_safe)
