"""Chapters: reading, locking and saving them, and the sums of their word targets.

The content version of a chapter grows by one whenever its text changes. Quality notes: what automatic checks found.
Sample text: what is written if no model is configured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bookgen.models import SAMPLE_WRITER, UNLIMITED, Chapter, ChapterStatus, RevisionOrigin
from bookgen.store.rows import columns, field_names, mapper

if TYPE_CHECKING:
    from uuid import UUID

    from bookgen.store.database import DB

COLUMNS = columns(field_names(Chapter), "c")

COLUMNS_BUT_CONTENT = columns([name for name in field_names(Chapter) if name != "content"], "c")

chapter_of = mapper(Chapter)

WORD_TARGET = "SELECT target_word_count FROM chapter WHERE id = $1 AND book_id = $2"


async def word_target(db: DB, book_id: int, chapter_id: int) -> int | None:
    """The chapter's target word count; None if the book has no such chapter."""
    words: int | None = await db.fetchval(WORD_TARGET, chapter_id, book_id)
    return words


OF_BOOK = f"SELECT {COLUMNS} FROM chapter c WHERE c.book_id = $1 ORDER BY c.chapter_number"


async def of_book(db: DB, book_id: int) -> list[Chapter]:
    """The book's chapters in order. The caller has checked the book's owner."""
    return [chapter_of(row) for row in await db.fetch(OF_BOOK, book_id)]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A chapter that may have been loaded without its text. `bytes`: the size of its text, even if not loaded."""

    chapter: Chapter
    bytes: int

    def without_text(self) -> Sketch:
        return replace(self, chapter=replace(self.chapter, content=""))


SKETCH_OF_BOOK = f"""
    SELECT {COLUMNS_BUT_CONTENT}, octet_length(c.content) AS bytes,
           CASE WHEN sum(octet_length(c.content)) OVER () <= $2 THEN c.content ELSE '' END AS content
      FROM chapter c
     WHERE c.book_id = $1 AND c.id <> ALL ($3::bigint[])
     ORDER BY c.chapter_number
"""


async def sketch_of_book(db: DB, book_id: int, most: int, known: Sequence[int] = ()) -> list[Sketch]:
    """The book's chapters in order, except those whose ids are in `known`. The caller has checked the book's owner.

    If the texts of the returned chapters have more than `most` bytes in total, all texts are left out (empty).
    """
    rows = await db.fetch(SKETCH_OF_BOOK, book_id, most, known)
    return [Sketch(chapter_of(row), row["bytes"]) for row in rows]


HAVE_TEXT = r"SELECT id, content ~ '\S' AS has_text FROM chapter WHERE book_id = $1 ORDER BY chapter_number"


async def have_text(db: DB, book_id: int) -> dict[int, bool]:
    """Whether each chapter of the book has text other than white space, by chapter id, in order."""
    return {row["id"]: row["has_text"] for row in await db.fetch(HAVE_TEXT, book_id)}


BYTES_OF = "SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM chapter WHERE id = ANY($1::bigint[])"


async def bytes_of(db: DB, chapter_ids: Sequence[int]) -> int:
    """The total size of the chapters' texts in bytes."""
    return int(await db.fetchval(BYTES_OF, list(chapter_ids)))


FINDINGS = """
    SELECT chapter_number, quality
      FROM chapter
     WHERE book_id = $1 AND quality <> '[]'
     ORDER BY chapter_number
"""


async def findings(db: DB, book_id: int) -> list[dict[str, Any]]:
    """The quality notes of the book's chapters, in order."""
    rows = await db.fetch(FINDINGS, book_id)
    return [{"chapter_number": row["chapter_number"], **finding} for row in rows for finding in row["quality"]]


ADD_FINDINGS = "UPDATE chapter SET quality = quality || $2 WHERE id = $1"


async def add_findings(db: DB, chapter_id: int, findings: Sequence[Mapping[str, object]]) -> None:
    """Add `findings` to the chapter's quality notes. The caller's transaction has locked the chapter."""
    if findings:
        await db.execute(ADD_FINDINGS, chapter_id, list(findings))


NOTE_BIBLE = """
    UPDATE chapter c
       SET quality = jsonb_path_query_array(c.quality, '$[*] ? (!(@.kind == "bible"))') || n.notes
      FROM jsonb_to_recordset($2) AS n (chapter_id int, seen int, notes jsonb)
     WHERE c.book_id = $1 AND c.id = n.chapter_id AND c.content_version = n.seen
       AND (n.notes <> '[]' OR c.quality @> '[{"kind": "bible"}]')
"""


async def note_bible(db: DB, book_id: int, notes: Sequence[Mapping[str, Any]]) -> None:
    """Replace the quality notes that say where a chapter contradicts the story bible. The caller has locked the book.

    `notes`: dicts with "chapter_id", "notes" and "seen". A chapter with another version than "seen" is left out.
    """
    await db.execute(NOTE_BIBLE, book_id, list(notes))


LOCK_OF_BOOK = f"{OF_BOOK} FOR UPDATE"


async def lock_of_book(db: DB, book_id: int) -> list[Chapter]:
    """Lock the book's chapters against other writers. Returns them in order. The caller has locked the book."""
    return [chapter_of(row) for row in await db.fetch(LOCK_OF_BOOK, book_id)]


SKETCH_OF_ACCOUNT = f"""
    SELECT {COLUMNS_BUT_CONTENT}, '' AS content, octet_length(c.content) AS bytes
      FROM book b
      JOIN chapter c ON c.book_id = b.id
     WHERE b.account_id = $1 AND ($2::bigint IS NULL OR b.id = $2)
     ORDER BY b.id DESC, c.chapter_number
"""


async def sketch_of_account(db: DB, account_id: int, book_id: int | None = None) -> list[Sketch]:
    """Every chapter of the account's books (or only of the book `book_id`), without its text. Newest book first."""
    return [Sketch(chapter_of(row), row["bytes"]) for row in await db.fetch(SKETCH_OF_ACCOUNT, account_id, book_id)]


SOME = f"""
    SELECT {COLUMNS}
      FROM chapter c
      JOIN book b ON b.id = c.book_id
     WHERE c.id = ANY($2::bigint[]) AND b.account_id = $1
     ORDER BY array_position($2, c.id)
"""


async def some(db: DB, account_id: int, chapter_ids: Sequence[int]) -> list[Chapter]:
    """The chapters with these ids that belong to the account, in the order of `chapter_ids`."""
    return [chapter_of(row) for row in await db.fetch(SOME, account_id, chapter_ids)]


FIND = f"""
    SELECT {COLUMNS}
      FROM chapter c
      JOIN book b ON b.id = c.book_id
     WHERE c.id = $2 AND b.account_id = $1
"""


async def find(db: DB, account_id: int, chapter_id: int) -> Chapter | None:
    row = await db.fetchrow(FIND, account_id, chapter_id)
    return row and chapter_of(row)


def _lock(columns: str) -> str:
    """SQL that locks an account's book, then one of its chapters (joined after the subquery), and reads `columns`."""
    return f"""
    SELECT {columns}
      FROM (SELECT b.id FROM book b
             WHERE b.account_id = $1 AND b.id = (SELECT book_id FROM chapter WHERE id = $2)
               FOR NO KEY UPDATE OF b) AS owned
      JOIN chapter c ON c.book_id = owned.id
     WHERE c.id = $2
       FOR UPDATE OF c
"""


LOCK = _lock(COLUMNS)


async def lock(db: DB, account_id: int, chapter_id: int) -> Chapter | None:
    """Lock the account's chapter and its book until the transaction ends. Returns the chapter, or None if not found."""
    row = await db.fetchrow(LOCK, account_id, chapter_id)
    return row and chapter_of(row)


LOCK_ITS_BOOK = """
    SELECT FROM book b
     WHERE b.account_id = $1 AND b.id = (SELECT book_id FROM chapter WHERE id = $2)
       FOR NO KEY UPDATE OF b
"""


async def lock_its_book(connection: DB, account_id: int, chapter_id: int) -> None:
    """Lock the chapter's book until the transaction ends. Call it before `save`, in the same transaction.

    Without this, `save` could wait for the book in the middle of its statement, use an outdated row, or deadlock.
    """
    await connection.execute(LOCK_ITS_BOOK, account_id, chapter_id)


LOCK_VERSION = _lock("c.content_version")


async def lock_version(db: DB, account_id: int, chapter_id: int) -> int | None:
    """Lock the chapter like `lock`, but return only its content version. None if the account has no such chapter."""
    version: int | None = await db.fetchval(LOCK_VERSION, account_id, chapter_id)
    return version


@dataclass(frozen=True, slots=True)
class SavedChapter:
    """A chapter after `save`. `grown`: it may need more storage than before. `illustrated`: it has pictures."""

    chapter: Chapter
    grown: bool
    illustrated: bool


# A new text drops the findings about the old one, with two exceptions. One about the story bible stays if its passage
# is in the text. One about a change by the quality gate stays until the former passage is back in the text: for a
# removed duplicate paragraph, which is still there once, only right after the paragraph that it followed.
CHANGES_STILL_IN = """(
               SELECT coalesce(jsonb_agg(note ORDER BY place), '[]')
                 FROM jsonb_array_elements(c.quality) WITH ORDINALITY AS listed (note, place)
                WHERE $7 ~ '\\S'
                  AND CASE WHEN note ->> 'kind' = 'bible' THEN strpos($7, note ->> 'excerpt') > 0
                           ELSE note ? 'before'
                                AND strpos($7, CASE WHEN note ->> 'after' = '' AND note ->> 'follows' <> ''
                                                    THEN concat(note ->> 'follows', E'\\n\\n', note ->> 'before')
                                                    ELSE note ->> 'before' END) = 0 END)"""


def settled_status(book: str, lacks_text: str, chapter_id: str) -> str:
    """SQL for the status of a book after an edit (not a run) has filled or emptied one of its chapters.

    `lacks_text`: the SQL condition that this chapter is empty now, which turns `completed` into `outline`. `outline`
    becomes `completed` if no chapter is empty and the book's newest run was completed. Any other status stays.
    """
    return f"""CASE WHEN {book}.status = 'completed' AND {lacks_text} THEN 'outline'
                     WHEN {book}.status = 'outline' AND NOT ({lacks_text})
                          AND NOT EXISTS (SELECT FROM chapter other WHERE other.book_id = {book}.id
                                             AND other.id <> {chapter_id} AND other.content = '')
                          AND (SELECT r.status FROM run r WHERE r.book_id = {book}.id
                                ORDER BY r.queue_seq DESC LIMIT 1) = 'completed' THEN 'completed'
                     ELSE {book}.status END"""


def _replaces_most(new: str, old: str) -> str:
    """The SQL condition that sentences not in `old` make up more than half of `new`."""
    sentences = r"regexp_split_to_table({}, '[.!?]\s+|\n+')"
    return f"""(
        SELECT 2 * coalesce(sum(length(n.sentence)) FILTER (WHERE o.sentence IS NOT NULL), 0) < sum(length(n.sentence))
          FROM {sentences.format(new)} AS n (sentence)
          LEFT JOIN (SELECT DISTINCT s.sentence FROM {sentences.format(old)} AS s (sentence)) AS o
            ON o.sentence = n.sentence)"""


# One statement, so the former text goes to the revisions without being transferred to this process.
SAVE = f"""
    WITH former AS ({LOCK}), changed AS (
        SELECT former.*, coalesce(former.content <> $7, false) AS rewritten
          FROM former
         WHERE $10::text IS NULL
            OR EXISTS (SELECT FROM plan p WHERE p.slug = $10 AND p.features -> 'max_stored_mb' = '{UNLIMITED}')
    ), kept AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer, written_at)
        SELECT id, $3, content, word_count, writer, written_at FROM changed WHERE rewritten AND content ~ '\\S'
    ), touched AS (
        UPDATE book
           SET updated_at = now(),
               status = CASE WHEN changed.rewritten
                             THEN {settled_status("book", "$7 = ''", "changed.id")} ELSE book.status END
          FROM changed WHERE book.id = changed.book_id
    )
    UPDATE chapter AS c
       SET title = coalesce($4, c.title), summary = coalesce($5, c.summary),
           target_word_count = coalesce($6, c.target_word_count),
           content = CASE WHEN f.rewritten THEN $7 ELSE c.content END,
           word_count = CASE WHEN f.rewritten THEN $8 ELSE c.word_count END,
           status = CASE WHEN f.rewritten THEN $9 ELSE c.status END,
           quality = CASE WHEN f.rewritten THEN {CHANGES_STILL_IN} ELSE c.quality END,
           written_at = CASE WHEN f.rewritten AND ($7 = '' OR $3 = 'restore') THEN NULL ELSE c.written_at END,
           writer = CASE WHEN NOT f.rewritten THEN c.writer
                         WHEN $11::text IS NOT NULL THEN $11
                         WHEN $7 = '' THEN ''
                         WHEN $3 = 'editor' AND c.writer = '{SAMPLE_WRITER}'
                              AND {_replaces_most("$7", "f.content")} THEN ''
                         ELSE c.writer END,
           content_version = c.content_version + f.rewritten::int, updated_at = now()
      FROM changed f
     WHERE c.id = f.id
    RETURNING {COLUMNS_BUT_CONTENT}, CASE WHEN $7 IS NULL THEN c.content ELSE '' END AS content,
              f.rewritten AND $7 <> '' OR octet_length(c.summary) > octet_length(f.summary) AS grown,
              EXISTS (SELECT FROM illustration i WHERE i.chapter_id = c.id) AS illustrated
"""


async def save(
    db: DB,
    account_id: int,
    chapter_id: int,
    changes: Mapping[str, Any],
    words: int,
    origin: RevisionOrigin,
    *,
    unbounded: str | None = None,
    writer: str | None = None,
) -> SavedChapter | None:
    """Change fields of the account's chapter, and update its book. Returns None if the account has no such chapter.

    If the text changes, the former text becomes a revision, and quality notes that no longer apply are dropped.
    `origin`: what replaces the former text. `words`: the word count of the new text. `writer`: the model that wrote it.
    If None, the chapter's writer stays, but sample text counts as the author's own once most of it is replaced.
    `unbounded`: the slug of a plan; unless that plan has unlimited storage, nothing is saved and None is returned.
    """
    content = changes.get("content")
    status = ChapterStatus.COMPLETED if content else ChapterStatus.PENDING
    fields = (changes.get("title"), changes.get("summary"), changes.get("target_word_count"), content)
    row = await db.fetchrow(SAVE, account_id, chapter_id, origin, *fields, words, status, unbounded, writer)
    if row is None:
        return None
    chapter = chapter_of(row) if content is None else replace(chapter_of(row), content=content)
    return SavedChapter(chapter, row["grown"], row["illustrated"])


WORDS_BEYOND_TARGET = """
    SELECT sum(c.target_word_count)::bigint
      FROM book b
      JOIN chapter c ON c.book_id = b.id
     WHERE b.id = $1
     GROUP BY b.target_word_count
    HAVING sum(c.target_word_count) > b.target_word_count
"""


async def words_beyond_target(db: DB, book_id: int) -> int | None:
    """The sum of the chapters' target word counts if it exceeds the book's target, else None."""
    words: int | None = await db.fetchval(WORDS_BEYOND_TARGET, book_id)
    return words


# Splits the words in proportion, in whole words: each chapter gets the difference between two running totals.
SCALE_WORD_TARGETS = """
    WITH ahead AS (
        SELECT id, own, count(*) OVER () AS chapters, sum(own) OVER (ORDER BY chapter_number) AS upto,
               sum(own) OVER () AS total
          FROM chapter CROSS JOIN LATERAL greatest(target_word_count, 1) AS own
         WHERE book_id = $1 AND content = ''
    ), room AS (
        SELECT $2::bigint - coalesce(sum(target_word_count), 0) AS words
          FROM chapter
         WHERE book_id = $1 AND content <> ''
    )
    UPDATE chapter AS c
       SET target_word_count = 1 + (words - chapters) * upto / total - (words - chapters) * (upto - own) / total,
           updated_at = now()
      FROM ahead, room
     WHERE c.id = ahead.id AND words >= chapters
"""


async def scale_word_targets(db: DB, book_id: int, target_word_count: int) -> None:
    """Scale the word targets of the chapters without text, so that all chapters together have the book's new target."""
    await db.execute(SCALE_WORD_TARGETS, book_id, target_word_count)


MARK_FOR_REWRITE = "UPDATE chapter SET rewrite_run = $2 WHERE book_id = $1"


async def mark_for_rewrite(db: DB, book_id: int, run_id: UUID) -> None:
    """Mark every chapter of the book to be written again by the run."""
    await db.execute(MARK_FOR_REWRITE, book_id, run_id)


END_WRITING = """
    UPDATE chapter
       SET status = CASE WHEN content <> '' THEN 'completed'
                         WHEN chapter_number = $2 THEN 'error'
                         ELSE 'pending' END
     WHERE book_id = $1 AND status IN ('writing', 'error')
"""


async def end_writing(db: DB, book_id: int, failed: int | None = None) -> None:
    """Mark the book's chapters as not being written. `failed`: the number of the chapter that could not be written."""
    await db.execute(END_WRITING, book_id, failed)
