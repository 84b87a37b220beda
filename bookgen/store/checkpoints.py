"""The chapters of a run: announced before they are written, committed when they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from bookgen.models import Run, RunStatus
from bookgen.store.database import DB
from bookgen.store.runs import RUN_FIELDS, run_of
from bookgen.store.steps import Step, columns


@dataclass(frozen=True, slots=True)
class Begin:
    """The wish to write the next chapter of a run that is held under `epoch`."""

    run_id: UUID
    epoch: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A run whose next chapter is announced. `replay`: model calls of the run are stored."""

    run: Run
    replay: bool


OF_RUN = ", ".join(RUN_FIELDS)

# The chapter that comes next is found in the same statement that announces it. Nothing is joined, and the status is a
# parameter, so that no plan reads a table or an index from end to end: a planner whose statistics are from before a
# restore of thousands would think nothing of it.
BEGIN = f"""
    WITH begun AS (
        UPDATE run r
           SET call_no = r.call_no + 1, call_started_at = now(), updated_at = now(),
               (total, done, current_chapter) = (
                   SELECT count(*),
                          count(*) FILTER (WHERE c.content <> '' AND c.rewrite_run IS DISTINCT FROM r.id),
                          min(c.chapter_number) FILTER (WHERE c.content = '' OR c.rewrite_run = r.id)
                     FROM chapter c WHERE c.book_id = r.book_id)
         WHERE r.id = ANY($1::uuid[]) AND r.status = $3 AND r.epoch = ($2::bigint[])[array_position($1, r.id)]
           AND (SELECT count(*) FROM chapter c
                 WHERE c.book_id = r.book_id AND (c.content = '' OR c.rewrite_run = r.id)) > 0
        RETURNING r.*
    ), marked AS (
        UPDATE chapter SET status = 'writing'
         WHERE id = ANY(ARRAY(SELECT (SELECT c.id FROM chapter c
                                       WHERE c.book_id = begun.book_id AND c.chapter_number = begun.current_chapter)
                                FROM begun))
    )
    SELECT {OF_RUN}, EXISTS (SELECT FROM step s WHERE s.run_id = begun.id) AS replay FROM begun
"""


async def begin(db: DB, asked: Sequence[Begin]) -> dict[UUID, Begun]:
    """Announces the next unwritten chapter of each run.

    A run that is absent from the answer has nothing left or is not ours to write.
    """
    ids, epochs = [each.run_id for each in asked], [each.epoch for each in asked]
    rows = await db.fetch(BEGIN, ids, epochs, RunStatus.RUNNING)
    return {row["id"]: Begun(run_of(row), row["replay"]) for row in rows}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A finished chapter on its way into the database, with everything that fences it.

    `seen` is the chapter's content version when its writing began. `digest` is None or the JSON of a Digest. `step` is
    the model call that came last, if it is not stored yet.
    """

    run_id: UUID
    epoch: int
    call_no: int
    chapter_id: int
    seen: int
    content: str
    word_count: int
    quality: list[dict[str, Any]]
    digest: dict[str, Any] | None
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A run whose chapter is committed. With a `call_started_at` its next chapter is announced.

    `book_updated_at` is when its book was last changed by anything but a checkpoint; None when an edit of this chapter
    was faster.
    """

    run: Run
    book_updated_at: datetime | None


# One statement: the fence, the text, the former text, the loser of a race with the editor, the digest, the last model
# call, and the announcement of the chapter that comes next, if the run goes on. An edit committed while the chapter was
# being written has moved `content_version`: then the chapter keeps the user's text and the model's goes to the
# revisions. The run is locked before its chapters, as everywhere.
CHECKPOINT = f"""
    WITH others AS (
        SELECT count(*) AS total,
               count(*) FILTER (WHERE content <> '' AND rewrite_run IS DISTINCT FROM $1) AS done,
               min(chapter_number) FILTER (WHERE content = '' OR rewrite_run = $1) AS next
          FROM chapter
         WHERE book_id = (SELECT book_id FROM run WHERE id = $1) AND id <> $4
    ), fenced AS (
        UPDATE run r
           SET total = others.total + 1, done = others.done + 1, written = r.written + 1, call_no = r.call_no + 1,
               crash_count = 0, words_written = r.words_written + $7,
               writing_seconds = r.writing_seconds + coalesce(extract(epoch FROM now() - r.call_started_at), 0),
               call_started_at = CASE WHEN r.status = 'running' AND next IS NOT NULL THEN now() END,
               current_chapter = CASE WHEN r.status = 'running' THEN coalesce(next, r.current_chapter)
                                      ELSE r.current_chapter END,
               updated_at = now()
          FROM others
         WHERE r.id = $1 AND r.epoch = $2 AND r.call_no = $3 AND r.status IN ('queued', 'running', 'paused')
        RETURNING r.*
    ), former AS (
        SELECT c.content, c.word_count, c.content <> '' AS held, c.content_version = $5 AS same
          FROM chapter c, fenced WHERE c.id = $4
           FOR UPDATE OF c
    ), saved AS (
        UPDATE chapter c
           SET content = CASE WHEN same THEN $6 ELSE c.content END,
               word_count = CASE WHEN same THEN $7 ELSE c.word_count END,
               quality = CASE WHEN same THEN $8::jsonb ELSE c.quality END,
               status = CASE WHEN same OR held THEN 'completed' ELSE 'pending' END,
               content_version = c.content_version + same::int,
               updated_at = CASE WHEN same THEN now() ELSE c.updated_at END,
               rewrite_run = NULL
          FROM former WHERE c.id = $4
    ), revised AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count)
        SELECT $4, 'model', CASE WHEN same THEN content ELSE $6 END, CASE WHEN same THEN word_count ELSE $7 END
          FROM former WHERE held OR NOT same
    ), digested AS (
        INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
        SELECT $4, j ->> 'content_hash', j ->> 'summary', j -> 'facts', j -> 'threads_opened', j -> 'threads_closed'
          FROM former, LATERAL (SELECT $9::jsonb AS j) AS json
         WHERE same AND $9::jsonb IS NOT NULL
        ON CONFLICT DO NOTHING
    ), stored AS (
        INSERT INTO step (book_id, key, run_id, stage, chapter_number, reply)
        SELECT book_id, $10::text, id, $11, $12, $13 FROM fenced WHERE $10::text IS NOT NULL
        ON CONFLICT DO NOTHING
        RETURNING book_id, run_id, stage, chapter_number
    ), paid AS (
        INSERT INTO model_call (account_id, book_id, run_id, stage, chapter_number, model, input_tokens, output_tokens,
                                cache_write_tokens, cache_read_tokens, images, cost_micros)
        SELECT account_id, stored.*, call.*
          FROM stored, fenced,
               unnest($14::text[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::integer[],
                      $20::bigint[]) AS call
    ), marked AS (
        UPDATE chapter SET status = 'writing' FROM fenced
         WHERE chapter.book_id = fenced.book_id AND chapter_number = current_chapter
           AND fenced.call_started_at IS NOT NULL
    )
    SELECT {OF_RUN},
           CASE WHEN (SELECT same FROM former)
                THEN (SELECT book.updated_at FROM book WHERE book.id = fenced.book_id) END AS book_updated_at
      FROM fenced
"""


async def save(db: DB, rows: Sequence[Checkpoint]) -> dict[UUID, Saved]:
    """Commits finished chapters of different runs, all or none. A run that is absent from the answer was fenced off."""
    found = await db.fetchmany(CHECKPOINT, [_values(row) for row in rows])
    return {row["id"]: Saved(run_of(row), row["book_updated_at"]) for row in found}


def _values(row: Checkpoint) -> tuple[Any, ...]:
    return (
        row.run_id, row.epoch, row.call_no, row.chapter_id, row.seen, row.content, row.word_count,
        row.quality, row.digest, *(_step_values(row.step) if row.step else NO_STEP),
    )  # fmt: skip


NO_STEP = (None,) * 11


def _step_values(step: Step) -> tuple[Any, ...]:
    return step.key, step.asked.stage, step.asked.chapter_number, step.reply, *columns(step.asked.calls)
