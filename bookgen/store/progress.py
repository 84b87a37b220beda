"""How far a run is, as its owner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.models import Run, RunStatus
from bookgen.store.database import DB
from bookgen.store.rows import mapper
from bookgen.store.runs import run_of


@dataclass(frozen=True, slots=True)
class ChapterCounts:
    """The chapters of a run's book as they are now.

    `texts` have text; of these, `kept` need no writing by the run and `new` were written since it began. `rewrites`
    says that the run still has to replace some text, or was stopped before it did. `drafting` says that the run's
    current chapter has no text yet.
    """

    chapters: int = 0
    texts: int = 0
    kept: int = 0
    new: int = 0
    words: int = 0
    rewrites: bool = False
    drafting: bool = False


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run as its owner sees it: with its place in the queue, the title of the chapter being written, the chapters of
    its book as they are now, the outline as JSON and, once it is completed, the findings of the quality gate."""

    run: Run
    place: int
    title: str | None
    counts: ChapterCounts
    outline: str = "[]"
    findings: Sequence[Mapping[str, Any]] = ()

    @property
    def done(self) -> int:
        """Chapters that need no writing: by the run while it may go on, else those that have text."""
        over = self.run.status in (RunStatus.STOPPED, RunStatus.COMPLETED)
        return self.counts.texts if over else self.counts.kept


COUNTS = """
           count(*) AS chapters, count(*) FILTER (WHERE c.content <> '') AS texts,
           count(*) FILTER (WHERE c.content <> '' AND c.rewrite_run IS DISTINCT FROM r.id) AS kept,
           count(*) FILTER (WHERE c.written_at >= r.started_at) AS new,
           coalesce(sum(c.word_count), 0)::bigint AS words,
           coalesce(bool_or(c.rewrite_run = r.id), false) AS rewrites,
           coalesce(bool_or(c.chapter_number = r.current_chapter AND c.content = ''), false) AS drafting,
           max(c.title) FILTER (WHERE c.chapter_number = r.current_chapter) AS title
"""

_counts = mapper(ChapterCounts)

# The outline is put together as text, for half of what PostgreSQL's own functions for objects and lists take.
OF_BOOK = f"""
    SELECT r.*, o.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           CASE WHEN r.status = 'completed' THEN (
               SELECT coalesce(jsonb_agg(jsonb_build_object(
                          'chapter_number', c.chapter_number, 'detail', f ->> 'detail')
                          ORDER BY c.chapter_number), '[]')
                 FROM chapter c, jsonb_array_elements(c.quality) f
                WHERE c.book_id = r.book_id AND NOT f ? 'before')
           ELSE '[]' END AS findings
      FROM (SELECT * FROM run WHERE account_id = $1 AND book_id = $2 ORDER BY queue_seq DESC LIMIT 1) r
     CROSS JOIN LATERAL (
           SELECT concat('[', string_agg(
                      concat('{{"id":', c.id, ',"chapter_number":', c.chapter_number, ',"title":', to_json(c.title),
                             ',"has_content":', (c.content <> '')::text, ',"word_count":', c.word_count,
                             ',"is_new":', coalesce(c.written_at >= r.started_at, false)::text, '}}'),
                      ',' ORDER BY c.chapter_number), ']') AS outline,
                  {COUNTS}
             FROM chapter c WHERE c.book_id = r.book_id) o
"""


async def of_book(db: DB, account_id: int, book_id: int) -> RunProgress | None:
    """The newest run of the book; None if it has none or is not the account's."""
    row = await db.fetchrow(OF_BOOK, account_id, book_id)
    if row is None:
        return None
    return RunProgress(run_of(row), row["place"], row["title"], _counts(row), row["outline"], row["findings"])


OF_ACCOUNT = f"""
    SELECT r.*, o.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place
      FROM book b
     CROSS JOIN LATERAL (SELECT * FROM run WHERE run.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r
     CROSS JOIN LATERAL (SELECT {COUNTS} FROM chapter c WHERE c.book_id = r.book_id) o
     WHERE b.account_id = $1
"""


async def of_account(db: DB, account_id: int) -> dict[int, RunProgress]:
    """The newest run of each of the account's books; without the outline."""
    rows = await db.fetch(OF_ACCOUNT, account_id)
    return {row["book_id"]: RunProgress(run_of(row), row["place"], row["title"], _counts(row)) for row in rows}
