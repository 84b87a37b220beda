"""Corrections: suggestions of proofreading reports put into their chapters.

Applying locks the book and a chapter, then the chapter's suggestions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from bookgen.billing.quota import Quota
from bookgen.models import Chapter, RevisionOrigin, Suggestion, SuggestionStatus
from bookgen.services import editing
from bookgen.store import chapters, reports, suggestions
from bookgen.store.suggestions import EVERYTHING
from bookgen.threads import compute
from bookgen.writing.proofreading.placing import Placement, applied, placed

if TYPE_CHECKING:
    from asyncpg import Connection, Pool


@dataclass(frozen=True, slots=True)
class AppliedSuggestions:
    """What came of applying several suggestions: how many were applied, how many are stale, by now or since before, and
    the chapters that changed.
    """

    applied: int
    stale: int
    chapters: list[int]


class Corrections:
    """Changes the chapters of one database."""

    def __init__(self, pool: Pool, quota: Quota) -> None:
        self._pool = pool
        self._quota = quota

    async def apply(self, account_id: int, report_id: int, chosen: Callable[[Suggestion], bool]) -> AppliedSuggestions:
        """Applies the chosen ones that are pending, a chapter in one transaction; the former text is kept."""
        by_chapter: defaultdict[int, set[int]] = defaultdict(set)
        stale = 0
        for each in filter(chosen, await suggestions.page(self._pool, account_id, report_id, EVERYTHING, limit=None)):
            stale += each.status is SuggestionStatus.STALE
            if each.status is SuggestionStatus.PENDING:
                by_chapter[each.chapter_id].add(each.id)
        done = {chapter: await self._apply_all(account_id, chapter, ids) for chapter, ids in sorted(by_chapter.items())}
        applied, found_stale = sum(a for a, _ in done.values()), sum(s for _, s in done.values())
        return AppliedSuggestions(applied, stale + found_stale, [chapter for chapter, (a, _) in done.items() if a])

    async def apply_safe_of_run(self, account_id: int, run_id: UUID) -> None:
        """Applies what is safe of the report that a production has made, if it has. It can be repeated."""
        report_id = await reports.of_run(self._pool, run_id)
        if report_id is not None:
            await self.apply(account_id, report_id, lambda each: each.safe)

    async def place(self, account_id: int, chapter_id: int) -> None:
        """Finds the chapter's pending suggestions again in a text that has changed since."""
        await self._apply(account_id, chapter_id, ())

    async def _apply_all(self, account_id: int, chapter_id: int, chosen: set[int]) -> tuple[int, int]:
        """Applies them in as many transactions as it takes to judge them: how many were applied, how many are stale."""
        applied = stale = 0
        while chosen:
            result = await self._apply(account_id, chapter_id, chosen)
            applied += len(result.applied)
            stale += len(chosen.intersection(result.stale))
            left = chosen.intersection(each.id for each in result.standing)
            if left == chosen:
                break
            chosen = left
        return applied, stale

    async def _apply(self, account_id: int, chapter_id: int, chosen: Collection[int]) -> Placement:
        async with self._pool.acquire() as connection, connection.transaction():
            chapter = await chapters.lock(connection, account_id, chapter_id)
            if chapter is None:
                return Placement("")
            pending = await suggestions.lock_pending(connection, chapter_id)
            result = await compute(_placed, pending, chapter, chosen)
            saved = await self._save(connection, account_id, chapter, result.content)
            await suggestions.place(connection, result.standing, saved.content_version)
            await suggestions.decide(connection, result.applied, SuggestionStatus.APPLIED)
            await suggestions.decide(connection, result.stale, SuggestionStatus.STALE)
        return result

    async def _save(self, connection: Connection, account_id: int, chapter: Chapter, content: str) -> Chapter:
        if content == chapter.content:
            return chapter
        changes, origin = {"content": content}, RevisionOrigin.PROOFREADING
        saved = await editing.save_chapter(connection, self._quota, account_id, chapter.id, changes, origin)
        return saved.chapter


def _placed(pending: Sequence[Suggestion], chapter: Chapter, chosen: Collection[int]) -> Placement:
    return applied(placed(pending, chapter.content, chapter.content_version), chosen)
