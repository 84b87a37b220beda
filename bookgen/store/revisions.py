"""Revisions of chapters. The newest 20 of each chapter are kept.

A revision is one of three: a former text; a model's text that was not used, because the author had edited the chapter
or a comparison preferred the draft; or a model's text before the quality gate changed it.
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
    """An entry in a chapter's history. `writer`: the model that wrote its text. `content`: the text; None in lists.

    `origin`: why the text is in the history, which in most cases is what replaced it. An entry with a `title` and a
    `summary` has no text: it records a title and a summary that the model proposed, while the author's own were kept.
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
    """Keep a text as a revision of the chapter. Returns the revision's id.

    `written_at`: when the model wrote it. `just_written`: the model wrote it in this transaction.
    """
    told = chapter_id, origin, content, word_count, writer, written_at, just_written
    return int(await connection.fetchval(ADD, *told))


def keep_original(content: str, words: str, writer: str, chapter: str, rows: str) -> str:
    """SQL of a CTE `kept`, which adds the model's own text as a revision unless the parameter `content` is null.

    All arguments are SQL. `content`, `words` and `writer`: query parameters. `chapter`: the chapter's id. `rows`: the
    name of a CTE to select from; the revision is added if that has a row.
    """
    return f"""kept AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer, written_at)
        SELECT {chapter}, 'quality_gate', {content}, {words}, {writer}, now()
          FROM {rows} WHERE {content}::text IS NOT NULL
        RETURNING id
    )"""


def with_revision(notes: str) -> str:
    """SQL for the quality notes in the parameter `notes`, with a revision's id added to each note about a change.

    The revision is the one that the CTE `kept` of `keep_original` has added. Without one, the notes are unchanged.
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
