"""The suggestions in reports of proofreaders and editors, and whether they were applied or dismissed.

A suggestion has a place in a text: its offsets, which count characters. A text has a content version, a number that
grows with each change. A suggestion also has a fingerprint; if the same suggestion is made again, the fingerprint is
the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from bookgen.models import SAFE_TYPES, Severity, Suggestion, SuggestionStatus, SuggestionType
from bookgen.store.rows import columns, field_names, mapper

if TYPE_CHECKING:
    from asyncpg import Connection

    from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class NewSuggestion:
    """A suggestion to add to a report."""

    chapter_id: int
    type: SuggestionType
    severity: Severity
    original_text: str
    suggested_text: str | None
    explanation: str
    source: str
    start_offset: int
    end_offset: int
    prefix: str
    suffix: str
    content_version: int
    fingerprint: str
    status: SuggestionStatus = SuggestionStatus.PENDING


NEW = field_names(NewSuggestion)

ADD = f"""
    INSERT INTO suggestion (report_id, {columns(NEW)})
    SELECT $1, n.* FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                               $9::int[], $10::int[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[])
           AS n ({columns(NEW)})
     WHERE NOT EXISTS (SELECT FROM report r JOIN dismissal d ON d.book_id = r.book_id
                        WHERE r.id = $1 AND d.fingerprint = n.fingerprint)
       AND EXISTS (SELECT FROM chapter c WHERE c.id = n.chapter_id)
"""


async def add(connection: Connection, report_id: int, rows: Sequence[NewSuggestion]) -> None:
    """Add suggestions, except those that the author has dismissed before and those whose chapter is gone."""
    await connection.execute(ADD, report_id, *([getattr(row, name) for row in rows] for name in NEW))


_suggestion = mapper(Suggestion)

COLUMNS = columns(field_names(Suggestion)[:3], "s") + ", c.chapter_number, " + columns(field_names(Suggestion)[4:], "s")


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for the suggestions of a report. None matches everything."""

    type: str | None = None
    severity: str | None = None
    status: str | None = None
    chapter_id: int | None = None
    safe: bool | None = None

    @property
    def values(self) -> tuple[object, ...]:
        return (self.type, self.severity, self.status, self.chapter_id, self.safe, SAFE_TYPES)


EVERYTHING = Filter()


CHOSEN = """
      FROM suggestion s
      JOIN report r ON r.id = s.report_id
      JOIN chapter c ON c.id = s.chapter_id
     WHERE r.account_id = $1 AND r.id = $2
       AND ($3::text IS NULL OR s.type = $3) AND ($4::text IS NULL OR s.severity = $4)
       AND ($5::text IS NULL OR s.status = $5) AND ($6::bigint IS NULL OR s.chapter_id = $6)
       AND ($7::bool IS NULL OR (s.type = ANY ($8)) = $7)
"""

COUNT = f"SELECT count(*) {CHOSEN}"


async def count(db: DB, account_id: int, report_id: int, chosen: Filter = EVERYTHING) -> int:
    return int(await db.fetchval(COUNT, account_id, report_id, *chosen.values))


PAGE = f"""
    SELECT {COLUMNS} {CHOSEN}
     ORDER BY array_position(ARRAY['critical', 'major', 'minor', 'info'], s.severity), c.chapter_number,
              s.start_offset, s.id
     LIMIT $9 OFFSET $10
"""


async def page(
    db: DB, account_id: int, report_id: int, chosen: Filter, *, limit: int | None, offset: int = 0
) -> list[Suggestion]:
    """A page of the report's suggestions: the most severe first, then in the order of the book."""
    rows = await db.fetch(PAGE, account_id, report_id, *chosen.values, limit, offset)
    return [_suggestion(row) for row in rows]


FIND = f"""
    SELECT {COLUMNS}
      FROM suggestion s JOIN report r ON r.id = s.report_id JOIN chapter c ON c.id = s.chapter_id
     WHERE r.account_id = $1 AND r.id = $2 AND s.id = $3
"""


async def find(db: DB, account_id: int, report_id: int, suggestion_id: int) -> Suggestion | None:
    row = await db.fetchrow(FIND, account_id, report_id, suggestion_id)
    return _suggestion(row) if row else None


OF_TASK = f"""
    SELECT {COLUMNS}
      FROM suggestion s JOIN report r ON r.id = s.report_id JOIN chapter c ON c.id = s.chapter_id
     WHERE r.account_id = $1 AND s.chapter_id = $2 AND r.task = $3
"""


async def of_task(db: DB, account_id: int, chapter_id: int, task: UUID) -> Suggestion | None:
    """The suggestion that came from rewriting a passage of the chapter, or None. `task`: the id of the rewrite."""
    row = await db.fetchrow(OF_TASK, account_id, chapter_id, task)
    return _suggestion(row) if row else None


PENDING_OF_CHAPTER = f"""
    SELECT {COLUMNS}
      FROM suggestion s JOIN chapter c ON c.id = s.chapter_id
     WHERE s.chapter_id = $1 AND s.status = 'pending'
     ORDER BY s.start_offset, s.id
"""


async def pending(db: DB, chapter_id: int) -> list[Suggestion]:
    """The chapter's pending suggestions from all reports."""
    return [_suggestion(row) for row in await db.fetch(PENDING_OF_CHAPTER, chapter_id)]


LOCK_PENDING = """
    SELECT id, content_version FROM suggestion WHERE chapter_id = $1 AND status = 'pending' ORDER BY id FOR UPDATE
"""


async def lock_pending(connection: Connection, chapter_id: int) -> dict[int, int]:
    """Lock the chapter's pending suggestions until the transaction ends. The caller has locked the chapter.

    Returns, by the id of each suggestion, the content version of the text for which its offsets are valid.
    """
    return {row["id"]: row["content_version"] for row in await connection.fetch(LOCK_PENDING, chapter_id)}


UNKNOWN = """
    SELECT given.id
      FROM unnest($3::bigint[]) AS given (id)
     WHERE NOT EXISTS (SELECT FROM suggestion s JOIN report r ON r.id = s.report_id
                        WHERE r.account_id = $1 AND r.id = $2 AND s.id = given.id)
     ORDER BY given.id
"""


async def unknown(db: DB, account_id: int, report_id: int, suggestion_ids: Collection[int]) -> list[int]:
    """The ids in `suggestion_ids` that do not belong to a suggestion of the report."""
    return [row["id"] for row in await db.fetch(UNKNOWN, account_id, report_id, list(suggestion_ids))]


OUTDATED = """
    SELECT DISTINCT s.chapter_id
      FROM suggestion s JOIN report r ON r.id = s.report_id JOIN chapter c ON c.id = s.chapter_id
     WHERE r.account_id = $1 AND r.id = $2 AND s.status = 'pending' AND s.content_version <> c.content_version
     ORDER BY s.chapter_id
"""


async def outdated(db: DB, account_id: int, report_id: int) -> list[int]:
    """The ids of the chapters that have changed since the report's pending suggestions were placed in their texts."""
    return [row["chapter_id"] for row in await db.fetch(OUTDATED, account_id, report_id)]


STORE_OFFSETS = """
    UPDATE suggestion AS s
       SET start_offset = n.start_offset, end_offset = n.end_offset, prefix = n.prefix, suffix = n.suffix,
           content_version = $6
      FROM unnest($1::bigint[], $2::int[], $3::int[], $4::text[], $5::text[])
           AS n (id, start_offset, end_offset, prefix, suffix)
     WHERE s.id = n.id
"""
OFFSET_COLUMNS = ("id", "start_offset", "end_offset", "prefix", "suffix")


async def store_offsets(connection: Connection, suggestions: Sequence[Suggestion], content_version: int) -> None:
    """Store the offsets of these suggestions, which are valid in the text with this content version."""
    values = ([getattr(each, name) for each in suggestions] for name in OFFSET_COLUMNS)
    await connection.execute(STORE_OFFSETS, *values, content_version)


DECIDE = "UPDATE suggestion SET status = $2 WHERE id = ANY ($1::bigint[]) AND status = 'pending'"


async def decide(connection: Connection, suggestion_ids: Sequence[int], status: SuggestionStatus) -> None:
    await connection.execute(DECIDE, suggestion_ids, status)


# Locks the book first, because a concurrent transaction may be deleting it and its suggestions.
DISMISS = """
    WITH owned AS (
        SELECT b.id FROM book b JOIN report r ON r.book_id = b.id
         WHERE r.account_id = $1 AND r.id = $2
           FOR KEY SHARE OF b
    ), found AS (
        UPDATE suggestion AS s SET status = 'dismissed'
          FROM owned
         WHERE s.report_id = $2 AND s.id = $3 AND s.status IN ('pending', 'dismissed')
        RETURNING owned.id AS book_id, s.fingerprint
    )
    INSERT INTO dismissal (book_id, fingerprint) SELECT book_id, fingerprint FROM found ON CONFLICT DO NOTHING
"""


async def dismiss(db: DB, account_id: int, report_id: int, suggestion_id: int) -> None:
    """Dismiss a pending suggestion, in this report and in later reports on the book."""
    await db.execute(DISMISS, account_id, report_id, suggestion_id)


DISMISSED = "SELECT fingerprint FROM dismissal WHERE book_id = $1"


async def dismissed(db: DB, book_id: int) -> set[str]:
    """The fingerprints of the suggestions that must not be made for the book again."""
    return {row["fingerprint"] for row in await db.fetch(DISMISSED, book_id)}


DISMISS_ALL = """
    INSERT INTO dismissal (book_id, fingerprint) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING
"""


async def dismiss_all(connection: Connection, book_id: int, fingerprints: Sequence[str]) -> None:
    """Record that no suggestion with one of these fingerprints may be made for the book again.

    The caller has locked the book.
    """
    await connection.execute(DISMISS_ALL, book_id, fingerprints)
