"""The chapters of a run: each is announced, then written, then committed with a checkpoint of the run.

A run is the writing of a book. To announce a chapter is to record that the run is about to write it. A checkpoint is
the commit of a finished chapter, together with the progress of its run.

Two numbers of a run show whether a result is outdated: `epoch` grows when another process takes the run over, and
`call_no` with each announcement and each checkpoint.

The functions `begin` and `commit` must be called in a transaction. They lock the row of the run first, so the run does
not change until the transaction ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
from asyncpg import Record

from bookgen.models import Digest, RevisionOrigin, Run, RunStatus
from bookgen.store import model_calls, revisions, steps
from bookgen.store.database import DB
from bookgen.store.material import save_digest
from bookgen.store.model_calls import Step
from bookgen.store.runs import run_of


@dataclass(frozen=True, slots=True)
class ChapterStart:
    """A run whose next chapter was just announced. `replay`: the run has stored replies that it can reuse."""

    run: Run
    replay: bool


@dataclass(frozen=True, slots=True)
class FinishedChapter:
    """A chapter that a run has written. `commit` refuses it if the run has another `epoch` or `call_no` by then.

    `seen`: the content version (a number that grows with each change of the text) that the chapter had when its writing
    began. `step`: the result of the last model call, if it is not stored yet. `original`: the text as the model wrote
    it, if the quality gate (the checks of a model's text) has corrected it. `writer`: the model that wrote the text.
    """

    run_id: UUID
    epoch: int
    call_no: int
    chapter_id: int
    seen: int
    content: str
    word_count: int
    quality: list[dict[str, Any]]
    digest: Digest | None
    step: Step | None = None
    original: str | None = None
    original_words: int = 0
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run after one of its chapters was committed. If `run.call_started_at` is set, its next chapter is announced.

    `book_updated_at`: the time of the book's last change, which a checkpoint does not alter. It is None if the text was
    not put into the chapter, because the author has edited or removed the chapter since its writing began.
    """

    run: Run
    book_updated_at: datetime | None


LOCK_RUN = "SELECT * FROM run WHERE id = $1 FOR UPDATE"


async def _lock_run(connection: asyncpg.Connection, run_id: UUID) -> Run | None:
    row = await connection.fetchrow(LOCK_RUN, run_id)
    return row and run_of(row)


@dataclass(frozen=True, slots=True)
class _Chapters:
    """Counts of the chapters of a run's book. `done`: how many of them the run does not have to write.

    `next`: the number of the chapter to write next; None if no chapter is left.
    """

    total: int
    done: int
    next: int | None


COUNT = """
    SELECT count(*) AS total,
           count(*) FILTER (WHERE content <> '' AND rewrite_run IS DISTINCT FROM $2) AS done,
           min(chapter_number) FILTER (WHERE content = '' OR rewrite_run = $2) AS next
      FROM chapter WHERE book_id = $1
"""


async def _count(connection: asyncpg.Connection, run: Run) -> _Chapters:
    return _Chapters(**await connection.fetchrow(COUNT, run.book_id, run.id))


MARK_WRITING = "UPDATE chapter SET status = 'writing' WHERE book_id = $1 AND chapter_number = $2"


async def _mark_writing(connection: asyncpg.Connection, run: Run) -> None:
    """Show the run's current chapter as being written."""
    await connection.execute(MARK_WRITING, run.book_id, run.current_chapter)


BEGIN = """
    UPDATE run
       SET call_no = call_no + 1, call_started_at = now(), updated_at = now(), writer = coalesce($5, writer),
           total = $2, done = $3, current_chapter = $4,
           draft_words = CASE WHEN current_chapter = $4 THEN draft_words ELSE 0 END,
           words_lost = words_lost + CASE WHEN current_chapter = $4 THEN 0 ELSE draft_words END
     WHERE id = $1
    RETURNING *
"""

HAS_STEPS = "SELECT EXISTS (SELECT FROM step WHERE run_id = $1)"


async def begin(
    connection: asyncpg.Connection, run_id: UUID, epoch: int, writer: str | None = None
) -> ChapterStart | None:
    """Announce the next unwritten chapter of a running run, and record that the model `writer` writes it.

    None if no chapter is left, the run is not running, or another process has taken it over (its epoch differs).
    """
    run = await _lock_run(connection, run_id)
    if run is None or not _may_begin(run, epoch):
        return None
    chapters = await _count(connection, run)
    if chapters.next is None:
        return None
    begun = run_of(await connection.fetchrow(BEGIN, run_id, chapters.total, chapters.done, chapters.next, writer))
    await _mark_writing(connection, begun)
    return ChapterStart(begun, await connection.fetchval(HAS_STEPS, run_id))


def _may_begin(run: Run, epoch: int) -> bool:
    return run.epoch == epoch and run.status is RunStatus.RUNNING


BEGIN_PHASE = """
    UPDATE run SET call_no = call_no + 1, call_started_at = now(), current_chapter = NULL, updated_at = now(),
                   writer = coalesce($5, writer)
     WHERE id = $1 AND epoch = $2 AND phase = $3 AND status = $4
    RETURNING *
"""


async def begin_phase(db: DB, run: Run, writer: str | None = None) -> Run | None:
    """Announce work of the run that writes no chapter, such as proofreading.

    `writer`: the model that does the work, if any. Returns the run. Returns None if the run is not running, is already
    in another phase, or was taken over by another process.
    """
    row = await db.fetchrow(BEGIN_PHASE, run.id, run.epoch, run.phase, RunStatus.RUNNING, writer)
    return row and run_of(row)


LOCK_BOOK = "SELECT updated_at FROM book WHERE id = $1 FOR NO KEY UPDATE"

ADVANCE = """
    UPDATE run
       SET total = $2, done = $3, written = written + 1, call_no = call_no + 1, crash_count = 0,
           words_written = words_written + $5, draft_words = 0, writer = coalesce(writer, nullif($6, '')),
           writing_seconds = writing_seconds + coalesce(extract(epoch FROM now() - call_started_at), 0),
           call_started_at = CASE WHEN status = 'running' AND $4::int IS NOT NULL THEN now() END,
           current_chapter = CASE WHEN status = 'running' THEN coalesce($4, current_chapter) ELSE current_chapter END,
           updated_at = now()
     WHERE id = $1
    RETURNING *
"""


async def commit(connection: asyncpg.Connection, chapter: FinishedChapter) -> Checkpoint | None:
    """Store a finished chapter and its last model call, update the run's progress, and announce the next chapter.

    Nothing is announced if no chapter is left or the run is not running. Returns None and stores nothing if the run has
    ended, was taken over by another process, or has announced other work since.
    """
    run = await _lock_run(connection, chapter.run_id)
    if run is None or not _accepts(run, chapter):
        return None
    book_updated_at = await connection.fetchval(LOCK_BOOK, run.book_id)
    kept = await _keep(connection, run, chapter)
    if chapter.step:
        await steps.insert(connection, chapter.step)
        await model_calls.charge(connection, chapter.step.entry)
    counts = await _count(connection, run)
    row = await connection.fetchrow(
        ADVANCE, run.id, counts.total, counts.done, counts.next, chapter.word_count, chapter.writer
    )
    advanced = run_of(row)
    if advanced.call_started_at:
        await _mark_writing(connection, advanced)
    return Checkpoint(advanced, book_updated_at if kept else None)


def _accepts(run: Run, chapter: FinishedChapter) -> bool:
    return run.status.active and (run.epoch, run.call_no) == (chapter.epoch, chapter.call_no)


LOCK_CHAPTER = """
    SELECT content, word_count, writer, written_at, content_version
      FROM chapter WHERE id = $1 AND book_id = $2 FOR UPDATE
"""

KEEP_EDIT = """
    UPDATE chapter
       SET status = CASE WHEN content <> '' THEN 'completed' ELSE 'pending' END, rewrite_run = NULL
     WHERE id = $1
"""


async def _keep(connection: asyncpg.Connection, run: Run, chapter: FinishedChapter) -> bool:
    """Store the text of a chapter. Returns whether the text became the chapter's content.

    If the author has edited the chapter since its writing began, the author's text stays and the new text becomes a
    revision. If the author has removed the chapter, the new text is discarded.
    """
    former = await connection.fetchrow(LOCK_CHAPTER, chapter.chapter_id, run.book_id)
    if former is None:
        return False
    notes = await _keep_original(connection, chapter)
    if former["content_version"] == chapter.seen:
        await _replace(connection, chapter, former, notes)
        return True
    told = chapter.content, chapter.word_count, chapter.writer
    await revisions.add(connection, chapter.chapter_id, RevisionOrigin.MODEL, *told, just_written=True)
    await connection.execute(KEEP_EDIT, chapter.chapter_id)
    return False


async def _keep_original(connection: asyncpg.Connection, chapter: FinishedChapter) -> list[dict[str, Any]]:
    """Store the text as the model wrote it as a revision, if the quality gate has corrected it.

    Returns the chapter's quality notes. Each note about a correction gets the id of that revision.
    """
    if chapter.original is None:
        return chapter.quality
    revision = await revisions.add(
        connection, chapter.chapter_id, RevisionOrigin.QUALITY_GATE, chapter.original, chapter.original_words,
        chapter.writer, just_written=True,
    )  # fmt: skip
    return [note | {"revision": revision} if "before" in note else note for note in chapter.quality]


REPLACE = """
    UPDATE chapter
       SET content = $2, word_count = $3, quality = $4, writer = $5, status = 'completed',
           content_version = content_version + 1, updated_at = now(), written_at = now(), rewrite_run = NULL
     WHERE id = $1
"""


async def _replace(
    connection: asyncpg.Connection, chapter: FinishedChapter, former: Record, notes: list[dict[str, Any]]
) -> None:
    """Make the new text the chapter's content. If the chapter had a text, that text becomes a revision."""
    chapter_id = chapter.chapter_id
    if former["content"]:
        told = former["content"], former["word_count"], former["writer"]
        await revisions.add(connection, chapter_id, RevisionOrigin.MODEL, *told, written_at=former["written_at"])
    await connection.execute(REPLACE, chapter_id, chapter.content, chapter.word_count, notes, chapter.writer)
    if chapter.digest:
        await save_digest(connection, chapter_id, chapter.digest)
