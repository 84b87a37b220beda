"""How far a run is, as its owner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.models import Run
from bookgen.store.database import DB
from bookgen.store.runs import run_of

# The outline is put together as text, for half of what PostgreSQL's own functions for objects and lists take.
OF_BOOK = """
    SELECT r.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           o.outline, o.title,
           CASE WHEN r.status = 'completed' THEN (
               SELECT coalesce(jsonb_agg(jsonb_build_object(
                          'chapter_number', c.chapter_number, 'detail', f ->> 'detail')
                          ORDER BY c.chapter_number), '[]')
                 FROM chapter c, jsonb_array_elements(c.quality) f WHERE c.book_id = r.book_id)
           ELSE '[]' END AS findings
      FROM run r
     CROSS JOIN LATERAL (
           SELECT concat('[', string_agg(
                      concat('{"id":', c.id, ',"chapter_number":', c.chapter_number, ',"title":', to_json(c.title),
                             ',"has_content":', (c.content <> '')::text, ',"word_count":', c.word_count, '}'),
                      ',' ORDER BY c.chapter_number), ']') AS outline,
                  max(c.title) FILTER (WHERE c.chapter_number = r.current_chapter) AS title
             FROM chapter c WHERE c.book_id = r.book_id) o
     WHERE r.book_id = $1 AND r.account_id = $2
     ORDER BY r.queue_seq DESC
     LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run as its owner sees it: with its place in the queue, the title of the chapter being written, the outline as
    JSON and, once it is completed, what the quality gate could not mend."""

    run: Run
    place: int
    title: str | None
    outline: str = "[]"
    findings: Sequence[Mapping[str, Any]] = ()


async def of_book(db: DB, account_id: int, book_id: int) -> RunProgress | None:
    row = await db.fetchrow(OF_BOOK, book_id, account_id)
    return row and RunProgress(run_of(row), row["place"], row["title"], row["outline"], row["findings"])


OF_ACCOUNT = """
    SELECT r.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           (SELECT title FROM chapter c WHERE c.book_id = r.book_id AND c.chapter_number = r.current_chapter) AS title
      FROM book b
     CROSS JOIN LATERAL (SELECT * FROM run WHERE run.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r
     WHERE b.account_id = $1
"""


async def of_account(db: DB, account_id: int) -> dict[int, RunProgress]:
    """The newest run of each of the account's books; without the outline."""
    rows = await db.fetch(OF_ACCOUNT, account_id)
    return {row["book_id"]: RunProgress(run_of(row), row["place"], row["title"]) for row in rows}
