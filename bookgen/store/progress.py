"""How far a run is, as its owner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.models import Run
from bookgen.store.database import DB
from bookgen.store.runs import run_of


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run as its owner sees it: with its place in the queue, the title of the chapter being written, the outline as
    JSON and, once it is completed, the findings of the quality gate."""

    run: Run
    place: int
    title: str | None
    outline: str = "[]"
    findings: Sequence[Mapping[str, Any]] = ()


# The outline is put together as text, for half of what PostgreSQL's own functions for objects and lists take.
OF_BOOKS = """
    SELECT r.*,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           o.outline, o.title,
           CASE WHEN r.status = 'completed' THEN (
               SELECT coalesce(jsonb_agg(jsonb_build_object(
                          'chapter_number', c.chapter_number, 'detail', f ->> 'detail')
                          ORDER BY c.chapter_number), '[]')
                 FROM chapter c, jsonb_array_elements(c.quality) f
                WHERE c.book_id = r.book_id AND NOT f ? 'before')
           ELSE '[]' END AS findings
      FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, book_id)
     CROSS JOIN LATERAL (
           SELECT * FROM run
            WHERE run.book_id = asked.book_id AND run.account_id = asked.account_id ORDER BY queue_seq DESC LIMIT 1) r
     CROSS JOIN LATERAL (
           SELECT concat('[', string_agg(
                      concat('{"id":', c.id, ',"chapter_number":', c.chapter_number, ',"title":', to_json(c.title),
                             ',"has_content":', (c.content <> '')::text, ',"word_count":', c.word_count, '}'),
                      ',' ORDER BY c.chapter_number), ']') AS outline,
                  max(c.title) FILTER (WHERE c.chapter_number = r.current_chapter) AS title
             FROM chapter c WHERE c.book_id = r.book_id) o
"""


async def of_books(db: DB, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], RunProgress]:
    """The newest run of each of these books, which are told by account and book; of one that has none, nothing."""
    rows = await db.fetch(OF_BOOKS, [account_id for account_id, _ in keys], [book_id for _, book_id in keys])
    return {
        (row["account_id"], row["book_id"]): RunProgress(
            run_of(row), row["place"], row["title"], row["outline"], row["findings"]
        )
        for row in rows
    }


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
