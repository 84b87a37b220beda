"""Reports of proofreaders and editors: starting them, and previewing, applying and dismissing their suggestions.

`actors/reports.py` makes a report. `services/corrections.py` applies its suggestions to the chapters.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from bookgen.billing.checks import require_readable
from bookgen.billing.quota import Quota
from bookgen.errors import (
    Conflict,
    GenerationInProgress,
    NotFound,
    QuotaExceeded,
    busy_with,
    foreign_chapters,
    must_exist,
)
from bookgen.models import Allowance, Chapter, Report, ReportKind, Suggestion, SuggestionStatus
from bookgen.services.corrections import AppliedSuggestions, Corrections
from bookgen.store import book_state, books, chapters, reports, subscriptions, suggestions
from bookgen.store.suggestions import Filter
from bookgen.threads import compute
from bookgen.writing.proofreading.placing import applied, placed

if TYPE_CHECKING:
    from asyncpg import Pool

PAGE_SIZE = 20
NO_REPLACEMENT = (
    "This finding has no replacement text. Edit the chapter (PATCH /chapters/{id}/), then dismiss the finding."
)
CONTEXT = 80  # characters of a preview before and after the change

_CUT_WORD_BEFORE = re.compile(r"^\S{,20}\s+")
_CUT_WORD_AFTER = re.compile(r"\s+\S{,20}$")


@dataclass(frozen=True, slots=True)
class Preview:
    """How a suggestion would change its chapter. The digests are hexadecimal SHA-256 of the whole text."""

    before: str
    after: str
    context_before: str
    context_after: str
    diff: str
    content_digest_before: str
    content_digest_after: str


class Proofreading:
    """Starts reports, and manages their suggestions.

    `wake` tells `actors/reports.py` that there is a new report. `call_off` tells it that a report was deleted.
    """

    def __init__(
        self,
        pool: Pool,
        quota: Quota,
        corrections: Corrections,
        wake: Callable[[], None],
        call_off: Callable[[int], None],
    ) -> None:
        self._pool = pool
        self._quota = quota
        self._wake = wake
        self._call_off = call_off
        self._corrections = corrections

    async def start(
        self,
        account_id: int,
        book_id: int,
        chapter_ids: Sequence[int] | None = None,
        kind: ReportKind = ReportKind.PROOFREADING,
    ) -> Report:
        """Request a report on the given chapters, or on all written chapters.

        Raises NotFound; InvalidInput for chapters of another book; GenerationInProgress while the book is being
        written; Conflict if the book has a job or the chapters have no text; PlanUpgradeRequired if the text is longer
        than one check may read; QuotaExceeded if no check is left.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            state = must_exist(await book_state.lock(connection, account_id, book_id, call_seconds=0), "book")
            if state.run and state.run.status.active:
                raise GenerationInProgress
            if state.job:
                raise busy_with(state.job)
            wanted = _wanted(await chapters.have_text(connection, book_id), chapter_ids)
            in_flight = await reports.active(connection, account_id)
            standing = await self._quota.standing(connection, account_id)
            book = must_exist(await books.find(connection, account_id, book_id))
            size = await chapters.bytes_of(connection, wanted)
            require_readable(standing.plan, book, size, self._quota.upgrade_url)
            await self._quota.require(connection, standing, Allowance.PROOFREADING_CHECKS, in_flight=in_flight)
            report_id = await reports.add(connection, account_id, book_id, uuid4(), wanted, kind)
            report = must_exist(await reports.find(connection, account_id, report_id))
        self._wake()
        return report

    async def find(self, account_id: int, report_id: int) -> Report:
        return must_exist(await reports.find(self._pool, account_id, report_id))

    async def delete(self, account_id: int, report_id: int) -> None:
        """Delete a report. Raises NotFound.

        If work on the report had begun, deleting it uses up a check, since suggestions may have been applied already.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await subscriptions.lock(connection, account_id)
            if must_exist(await reports.delete(connection, account_id, report_id)):
                with contextlib.suppress(QuotaExceeded):  # a used-up allowance must not prevent the deletion
                    await self._quota.spend(connection, account_id, Allowance.PROOFREADING_CHECKS)
        self._call_off(report_id)

    async def page(self, account_id: int, report_id: int, chosen: Filter, number: int) -> tuple[int, list[Suggestion]]:
        """The number of suggestions that match `chosen`, and one page of them, the most severe first.

        Raises NotFound beyond the last page.
        """
        await self._update_offsets(account_id, report_id)
        count = await suggestions.count(self._pool, account_id, report_id, chosen)
        if number > max(1, -(-count // PAGE_SIZE)):
            raise NotFound("This page does not exist. Use the `next` and `previous` links.")
        offset = (number - 1) * PAGE_SIZE
        found = await suggestions.page(self._pool, account_id, report_id, chosen, limit=PAGE_SIZE, offset=offset)
        return count, found

    async def preview(self, account_id: int, report_id: int, suggestion_id: int) -> Preview:
        """The preview of a suggestion. Raises NotFound, and Conflict if the suggestion cannot be applied."""
        await self._update_offsets(account_id, report_id)
        suggestion = await self._suggestion(account_id, report_id, suggestion_id)
        chapter = must_exist(await chapters.find(self._pool, account_id, suggestion.chapter_id))
        if suggestion.status is not SuggestionStatus.PENDING:
            raise Conflict(
                f"This suggestion is {suggestion.status}. Only pending suggestions have a preview (list them with "
                "?status=pending)."
            )
        return await compute(_preview, suggestion, chapter)

    async def apply(self, account_id: int, report_id: int, suggestion_ids: Collection[int]) -> AppliedSuggestions:
        """Apply the pending suggestions among these, one transaction per chapter. Replaced texts become revisions."""
        return await self._corrections.apply(account_id, report_id, lambda each: each.id in suggestion_ids)

    async def unknown(self, account_id: int, report_id: int, suggestion_ids: Collection[int]) -> list[int]:
        """The ids among `suggestion_ids` that do not belong to a suggestion of the report."""
        return await suggestions.unknown(self._pool, account_id, report_id, suggestion_ids)

    async def apply_safe(self, account_id: int, report_id: int) -> AppliedSuggestions:
        """Apply all pending suggestions that need no review."""
        return await self._corrections.apply(account_id, report_id, lambda each: each.safe)

    async def apply_one(self, account_id: int, report_id: int, suggestion_id: int) -> Suggestion:
        """Apply a suggestion. Returns it with its new status: applied, or stale if its text has changed.

        Raises NotFound, and Conflict if the suggestion was dismissed or has no replacement text.
        """
        suggestion = await self._suggestion(account_id, report_id, suggestion_id)
        if suggestion.status is SuggestionStatus.DISMISSED:
            raise Conflict(
                "This suggestion was dismissed and cannot be applied. Edit the chapter instead (PATCH /chapters/{id}/)."
            )
        if suggestion.suggested_text is None:
            raise Conflict(NO_REPLACEMENT)
        await self.apply(account_id, report_id, {suggestion_id})
        return await self._suggestion(account_id, report_id, suggestion_id)

    async def apply_severe(self, account_id: int, report_id: int, severities: Collection[str]) -> AppliedSuggestions:
        """Apply all pending suggestions of these severities."""
        return await self._corrections.apply(account_id, report_id, lambda each: each.severity in severities)

    async def dismiss(self, account_id: int, report_id: int, suggestion_id: int) -> Suggestion:
        """Dismiss a suggestion, in this report and in later reports on the book.

        Raises NotFound, and Conflict if the suggestion was applied.
        """
        await suggestions.dismiss(self._pool, account_id, report_id, suggestion_id)
        suggestion = await self._suggestion(account_id, report_id, suggestion_id)
        if suggestion.status is SuggestionStatus.APPLIED:
            raise Conflict(
                "This suggestion was applied, so it cannot be dismissed. To undo it, restore the chapter's former text "
                "(POST /chapters/{id}/revisions/{revision_id}/restore/)."
            )
        return suggestion

    async def _suggestion(self, account_id: int, report_id: int, suggestion_id: int) -> Suggestion:
        return must_exist(await suggestions.find(self._pool, account_id, report_id, suggestion_id), "suggestion")

    async def _update_offsets(self, account_id: int, report_id: int) -> None:
        """Update the offsets of the report's suggestions in chapters whose text has changed."""
        for chapter_id in await suggestions.outdated(self._pool, account_id, report_id):
            await self._corrections.update_offsets(account_id, chapter_id)


def _wanted(have_text: Mapping[int, bool], chapter_ids: Sequence[int] | None) -> list[int]:
    written = [chapter_id for chapter_id, has_text in have_text.items() if has_text]
    if chapter_ids is not None:
        if foreign := set(chapter_ids) - have_text.keys():
            raise foreign_chapters(foreign)
        written = [chapter_id for chapter_id in written if chapter_id in set(chapter_ids)]
    if not written:
        raise Conflict("None of the chapters has text yet. Write the book first (POST /books/{id}/generate/).")
    return written


def _preview(suggestion: Suggestion, chapter: Chapter) -> Preview:
    if suggestion.suggested_text is None:
        raise Conflict(NO_REPLACEMENT)
    before = chapter.content
    found = placed([suggestion], before, chapter.content_version)
    result = applied(found, {suggestion.id})
    if not result.applied:
        raise Conflict(
            "This suggestion is stale: the text that it was made for has changed. Start a new report (POST "
            "/proofreading-reports/)."
        )
    start, end, after = found.pending[0].start_offset, found.pending[0].end_offset, result.content
    return Preview(
        before=suggestion.original_text,
        after=suggestion.suggested_text,
        context_before=_from_a_word(before[:start]),
        context_after=_to_a_word(before[end:]),
        diff=_diff(before, start, end, suggestion.suggested_text),
        content_digest_before=_digest(before),
        content_digest_after=_digest(after),
    )


def _diff(before: str, start: int, end: int, replacement: str) -> str:
    """A unified diff of replacing `before[start:end]`, without context lines.

    A general diff algorithm would take minutes for some texts.
    """
    first, last = before.rfind("\n", 0, start) + 1, before.find("\n", end)
    last = len(before) if last < 0 else last
    number = before.count("\n", 0, first) + 1
    removed, added = before[first:last], f"{before[first:start]}{replacement}{before[end:last]}"
    return f"--- before\n+++ after\n@@ -{number} +{number} @@\n-{removed}\n+{added}"


def _from_a_word(text: str) -> str:
    """The last CONTEXT characters of the text, beginning at a whole word if the script has spaces."""
    near = text[-CONTEXT:]
    return near if len(text) <= CONTEXT else _CUT_WORD_BEFORE.sub("", near)


def _to_a_word(text: str) -> str:
    near = text[:CONTEXT]
    return near if len(text) <= CONTEXT else _CUT_WORD_AFTER.sub("", near)


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
