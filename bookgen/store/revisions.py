"""Revisions: the history of a chapter. A trigger of sql/0002_books.sql keeps the newest 20 of each chapter.

A revision is one of three: a former text; a model's text that was not used, because the author had edited the chapter
or a comparison preferred the draft; or a model's text as it was before the quality gate corrected it. The quality gate
is the set of automatic checks that each text by a model goes through.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bookgen.models import RevisionOrigin

if TYPE_CHECKING:
    from asyncpg import Connection, Record

    from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class Revision:
    """An entry in a chapter's history. `content`: its text; None in lists. `writer`: the model that wrote the text.

    `origin`: why the entry is in the history; for a former text, what replaced it. An entry that has a `title` and a
    `summary` has no text: a model proposed them, but the author's own title and summary were kept.
    """

    id: int
    origin: RevisionOrigin
    word_count: int
    created_at: datetime
    content: str | None = None
    title: str | None = None
    summary: str | None = None
    writer: str = ""


def _revision_of(row: Record) -> Revision:
    return Revision(**{**row, "origin": RevisionOrigin(row["origin"])})


ADD = """
    INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer, written_at)
    VALUES ($1, $2, $3, $4, $5, CASE WHEN $7 THEN now() ELSE $6 END) RETURNING id
"""


async def add(
    connection: Connection,
    chapter_id: int,
    origin: RevisionOrigin,
    content: str,
    word_count: int,
    writer: str,
    *,
    written_at: datetime | None = None,
    just_written: bool = False,
) -> int:
    """Add a text to the chapter's revisions. Returns the id of the revision.

    `written_at`: when a model wrote the text. `just_written`: the model has just written the text, so the time of the
    transaction is used.
    """
    told = chapter_id, origin, content, word_count, writer, written_at, just_written
    return int(await connection.fetchval(ADD, *told))


def keep_original(content: str, words: str, writer: str, chapter: str, rows: str) -> str:
    """SQL of a CTE named `kept`, which adds a model's uncorrected text to the revisions unless `content` is null.

    All arguments are SQL: the parameters with the text, its word count and its model; the id of the chapter; and the
    name of a CTE `rows`. If that CTE has no row, nothing is added.
    """
    return f"""kept AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer, written_at)
        SELECT {chapter}, 'quality_gate', {content}, {words}, {writer}, now()
          FROM {rows} WHERE {content}::text IS NOT NULL
        RETURNING id
    )"""


def with_revision(notes: str) -> str:
    """SQL for an array of quality notes in which each note about a correction has the id of a revision.

    `notes`: the parameter with the original array. The revision is added by the CTE of `keep_original`. If that adds
    none, the notes stay as they are.
    """
    return f"""coalesce(
        (SELECT jsonb_agg(CASE WHEN note ? 'before' THEN note || jsonb_build_object('revision', kept.id) ELSE note END
                          ORDER BY place)
           FROM kept, jsonb_array_elements({notes}::jsonb) WITH ORDINALITY AS listed (note, place)),
        {notes}::jsonb)"""


OF_CHAPTER = """
    SELECT r.id, r.origin, r.word_count, r.created_at
      FROM chapter_revision r
      JOIN chapter c ON c.id = r.chapter_id
      JOIN book b ON b.id = c.book_id
     WHERE c.id = $2 AND b.account_id = $1
     ORDER BY r.id DESC
"""


async def of_chapter(db: DB, account_id: int, chapter_id: int) -> list[Revision]:
    """The chapter's revisions without their texts, newest first."""
    return [_revision_of(row) for row in await db.fetch(OF_CHAPTER, account_id, chapter_id)]


FIND = """
    SELECT r.id, r.origin, r.word_count, r.created_at, r.content, r.title, r.summary, r.writer
      FROM chapter_revision r
      JOIN chapter c ON c.id = r.chapter_id
      JOIN book b ON b.id = c.book_id
     WHERE r.id = $3 AND c.id = $2 AND b.account_id = $1
"""


async def find(db: DB, account_id: int, chapter_id: int, revision_id: int) -> Revision | None:
    row = await db.fetchrow(FIND, account_id, chapter_id, revision_id)
    return _revision_of(row) if row else None
