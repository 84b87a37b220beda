"""The input of model work on a book (chapters and their digests), and the results of model work outside a run.

A run is the writing of a book; an outline, for example, is drafted outside of one. A digest is what later chapters must
know about a chapter: a summary, facts and plot threads. The story bible is what the whole book must agree with, such as
its characters. Each text has a content version, a number that grows by one whenever the author or a model changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from asyncpg import Record

from bookgen.models import Chapter, Digest
from bookgen.store import facts as fact_rows
from bookgen.store.chapters import chapter_of, settled_status
from bookgen.store.database import DB
from bookgen.store.revisions import keep_original, with_revision
from bookgen.store.rows import columns, field_names

# How many characters of a chapter's text are read at most. An author may paste a longer chapter than bookgen writes.
# Then the middle is left out: digests are made from the beginning and the end, and the next chapter follows the end.
MAX_TEXT_CHARACTERS = 60_000

OTHER_COLUMNS = columns([name for name in field_names(Chapter) if name != "content"], "c")

# A digest belongs to a text, not to a chapter: `content_hash` shows whether it still fits. If the middle of the text is
# left out, a digest that fits the whole text is returned with the hash of the shortened text.
CHAPTERS = f"""
    SELECT {OTHER_COLUMNS}, t.content,
           CASE WHEN t.content <> c.content AND d.content_hash = encode(sha256(convert_to(c.content, 'UTF8')), 'hex')
                THEN encode(sha256(convert_to(t.content, 'UTF8')), 'hex')
                ELSE d.content_hash END AS content_hash,
           d.summary AS digest, d.facts, d.threads_opened, d.threads_closed
      FROM chapter c
     CROSS JOIN LATERAL (
        SELECT CASE WHEN length(c.content) > $2
                    THEN left(c.content, $2 / 2) || E'\\n\\n[…]\\n\\n' || right(c.content, $2 / 2)
                    ELSE c.content END AS content
        OFFSET 0  -- keeps the planner from computing it twice
     ) AS t
      LEFT JOIN LATERAL (SELECT * FROM digest WHERE chapter_id = c.id ORDER BY created_at DESC LIMIT 1) AS d
        ON c.content <> ''
     WHERE c.book_id = $1
     ORDER BY c.chapter_number
"""


async def chapters(db: DB, book_id: int) -> tuple[tuple[Chapter, ...], dict[int, Digest]]:
    """The book's chapters in order, and the newest digest of each that has one, by chapter number.

    If a text has more than MAX_TEXT_CHARACTERS characters, its middle is left out.
    """
    rows = await db.fetch(CHAPTERS, book_id, MAX_TEXT_CHARACTERS)
    digests = {row["chapter_number"]: _digest(row) for row in rows if row["content_hash"] is not None}
    noted = await fact_rows.of_book(db, book_id)
    return tuple(chapter_of(row) for row in rows), fact_rows.corrected(digests, noted)


@dataclass(frozen=True, slots=True)
class PlannedChapter:
    """A chapter of a new outline. `plan`: its scenes.

    `seen`: if an existing outline was reworked, the chapter as it was when the model was asked; otherwise None.
    """

    number: int
    title: str
    summary: str
    target_word_count: int
    seen: Chapter | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)


HAS_OUTLINE = """
    UPDATE book SET status = 'outline', bible = coalesce($2, bible) || authored_bible, updated_at = now() WHERE id = $1
"""

# Title, summary, word target, plan and text each stay as they are if the author has changed them since the model was
# asked. The model's title and summary then become a revision. The `seen_…` values are what the model saw; null stands
# for the chapter's current value.
REWORK = """
    WITH n AS (
        SELECT *
          FROM unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::jsonb[],
                      $7::text[], $8::text[], $9::int[], $10::int[], $11::jsonb[])
               AS n (number, title, summary, target_word_count, plan,
                     seen_title, seen_summary, seen_target, seen_version, seen_plan)
    ), former AS (
        SELECT c.id, c.content, c.word_count, c.writer, c.written_at,
               coalesce(c.content_version = n.seen_version, true) AS same,
               n.title, n.summary,
               c.title NOT IN (coalesce(n.seen_title, c.title), n.title)
               OR c.summary NOT IN (coalesce(n.seen_summary, c.summary), n.summary) AS outdone
          FROM chapter c JOIN n ON c.chapter_number = n.number WHERE c.book_id = $1
           FOR UPDATE OF c
    ), kept AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer, written_at)
        SELECT id, 'regenerate', content, word_count, writer, written_at FROM former WHERE same AND content <> ''
    ), kept_plan AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, title, summary)
        SELECT id, 'model', '', 0, title, summary FROM former WHERE outdone
    )
    UPDATE chapter c
       SET title = CASE WHEN c.title = coalesce(n.seen_title, c.title) THEN n.title ELSE c.title END,
           summary = CASE WHEN c.summary = coalesce(n.seen_summary, c.summary) THEN n.summary ELSE c.summary END,
           target_word_count = CASE WHEN c.target_word_count = coalesce(n.seen_target, c.target_word_count)
                                    THEN n.target_word_count ELSE c.target_word_count END,
           plan = CASE WHEN c.plan = coalesce(n.seen_plan, c.plan) THEN n.plan ELSE c.plan END,
           content = CASE WHEN same THEN '' ELSE c.content END,
           word_count = CASE WHEN same THEN 0 ELSE c.word_count END,
           quality = CASE WHEN same THEN '[]' ELSE c.quality END,
           writer = CASE WHEN same THEN '' ELSE c.writer END,
           status = CASE WHEN same THEN 'pending' ELSE c.status END,
           written_at = CASE WHEN same THEN NULL ELSE c.written_at END,
           rewrite_run = NULL, content_version = c.content_version + same::int, updated_at = now()
      FROM n, former
     WHERE c.book_id = $1 AND c.chapter_number = n.number AND former.id = c.id
"""


async def rework(connection: asyncpg.Connection, book_id: int, plans: Sequence[PlannedChapter]) -> None:
    """Give existing chapters new titles, summaries, word targets and scenes, and remove their texts.

    The texts become revisions. Whatever the author has changed in a chapter since the model saw it stays as it is.
    """
    seen = [
        [plan.seen and plan.seen.title for plan in plans],
        [plan.seen and plan.seen.summary for plan in plans],
        [plan.seen and plan.seen.target_word_count for plan in plans],
        [plan.seen and plan.seen.content_version for plan in plans],
        [plan.seen and dict(plan.seen.plan) for plan in plans],
    ]
    await connection.execute(REWORK, book_id, *_columns(plans), *seen)
    await connection.execute(HAS_OUTLINE, book_id, None)


DROP_CHAPTERS_BEYOND = "DELETE FROM chapter WHERE book_id = $1 AND chapter_number > $2"

# A new outline may have other characters, so the character sheet is deleted.
FORGET_SHEET = "DELETE FROM media WHERE key = (SELECT character_sheet_key FROM book WHERE id = $1)"


async def replace_outline(
    connection: asyncpg.Connection, book_id: int, bible: Mapping[str, Any], plans: Sequence[PlannedChapter]
) -> None:
    """Replace the book's outline: its story bible and its chapters.

    A chapter whose number is also in the new outline keeps its row and its revisions. The book's character sheet (a
    picture of the hero) is deleted.
    """
    await connection.execute(DROP_CHAPTERS_BEYOND, book_id, len(plans))
    await connection.execute(FORGET_SHEET, book_id)
    await rework(connection, book_id, plans)
    await add_chapters(connection, book_id, plans)
    await connection.execute(HAS_OUTLINE, book_id, dict(bible))


# The author's own summaries stay, and so does an existing plan.
PLAN = """
    UPDATE chapter c SET title = n.title, summary = n.summary, updated_at = now()
      FROM unnest($2::int[], $3::text[], $4::text[]) AS n (number, title, summary)
     WHERE c.book_id = $1 AND c.chapter_number = n.number AND c.summary = ''
       AND EXISTS (SELECT FROM book b WHERE b.id = $1 AND b.bible = b.authored_bible)
"""

HAS_PLAN = """
    UPDATE book SET bible = $2 || authored_bible, updated_at = now() WHERE id = $1 AND bible = authored_bible
"""


async def write_plan(
    connection: asyncpg.Connection, book_id: int, bible: Mapping[str, Any], plans: Sequence[PlannedChapter]
) -> None:
    """Store the story bible, and the titles and summaries of the chapters, of a book without an outline.

    Call it in a transaction. Chapters that already have a summary are not changed. Nothing is changed if the book's
    story bible has an entry that its author did not write.
    """
    numbers, titles, summaries, *_ = _columns(plans)
    await connection.execute(PLAN, book_id, numbers, titles, summaries)
    await connection.execute(HAS_PLAN, book_id, dict(bible))


LOCK_BOOK = "SELECT 1 FROM book WHERE id = $1 FOR NO KEY UPDATE"


async def store_plan(
    pool: asyncpg.Pool, book_id: int, bible: Mapping[str, Any], plans: Sequence[PlannedChapter]
) -> None:
    """Like `write_plan`, in a transaction of its own. Idempotent."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(LOCK_BOOK, book_id)
        await write_plan(connection, book_id, bible, plans)


ADD_CHAPTERS = """
    INSERT INTO chapter (book_id, chapter_number, title, summary, target_word_count, plan)
    SELECT $1, n.number, n.title, n.summary, n.target_word_count, n.plan
      FROM unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::jsonb[])
           AS n (number, title, summary, target_word_count, plan)
     WHERE NOT EXISTS (SELECT FROM chapter c WHERE c.book_id = $1 AND c.chapter_number = n.number)
     ORDER BY n.number
"""


async def add_chapters(connection: asyncpg.Connection, book_id: int, plans: Sequence[PlannedChapter]) -> None:
    """Add the planned chapters whose numbers the book does not have yet."""
    await connection.execute(ADD_CHAPTERS, book_id, *_columns(plans))


REWRITE = f"""
    WITH former AS (
        SELECT c.book_id, c.content, c.word_count, c.writer, c.written_at, c.content <> '' AS held,
               c.content_version = $5 AS same
          FROM (SELECT b.id FROM book b WHERE b.id = (SELECT book_id FROM chapter WHERE id = $1)
                   FOR NO KEY UPDATE OF b) AS of_book
          JOIN chapter c ON c.book_id = of_book.id
         WHERE c.id = $1
           FOR UPDATE OF c
    ), touched AS (
        UPDATE book SET updated_at = now(), status = {settled_status("book", "NOT (former.same OR former.held)", "$1")}
          FROM former WHERE book.id = former.book_id
    ), revised AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer, written_at)
        SELECT $1, CASE WHEN same THEN 'regenerate' ELSE 'model' END,
               CASE WHEN same THEN content ELSE $2 END, CASE WHEN same THEN word_count ELSE $3 END,
               CASE WHEN same THEN writer ELSE $8 END, CASE WHEN same THEN written_at ELSE now() END
          FROM former WHERE held OR NOT same
    ), {keep_original("$6", "$7", "$8", "$1", "former")}
    UPDATE chapter
       SET content = $2, word_count = $3, quality = {with_revision("$4")}, status = 'completed',
           content_version = content_version + 1, updated_at = now(), written_at = now(), writer = $8
      FROM former
     WHERE id = $1 AND same
    RETURNING true
"""


async def rewrite(
    connection: asyncpg.Connection,
    chapter_id: int,
    seen: int,
    content: str,
    word_count: int,
    quality: list[dict[str, Any]],
    digest: Digest | None,
    original: str | None = None,
    original_words: int = 0,
    writer: str = "",
) -> None:
    """Replace a chapter's text with a text by a model. The former text becomes a revision.

    If the chapter is no longer at content version `seen`, its text has been edited: the edited text stays, and the new
    text becomes the revision. `original`: the text as the model wrote it, if the quality gate (the checks of a model's
    text) has corrected it; it becomes a revision too. `quality`: the notes of the quality gate.
    """
    replaced = await connection.fetchval(
        REWRITE, chapter_id, content, word_count, quality, seen, original, original_words, writer
    )
    if replaced and digest:
        await save_digest(connection, chapter_id, digest)


SAVE_DIGEST = """
    INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""


async def save_digest(connection: asyncpg.Connection, chapter_id: int, digest: Digest) -> None:
    """Store the digest of the chapter's text, and the facts that a model has just noted. Call it in a transaction."""
    await connection.execute(SAVE_DIGEST, chapter_id, *_values(digest))
    if digest.noted is not None:
        await fact_rows.replace(connection, chapter_id, digest.content_hash, digest.noted)


CARRY_DIGEST = """
    INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
    SELECT chapter_id, $3, summary, facts, threads_opened, threads_closed
      FROM digest WHERE chapter_id = $1 AND content_hash = $2
    ON CONFLICT DO NOTHING
"""


async def carry_digest(connection: asyncpg.Connection, chapter_id: int, former: str, corrected: str) -> None:
    """If the chapter's former text has a digest, store the same digest for the chapter's corrected text.

    `former` and `corrected`: the hashes of these texts.
    """
    await connection.execute(CARRY_DIGEST, chapter_id, former, corrected)


# A save locks the chapter before it writes a digest of it. In the other order the two would wait for each other: an
# INSERT waits for the same digest of another transaction before it locks the chapter that it refers to.
LOCK_CHAPTER = "SELECT id FROM chapter WHERE book_id = $1 AND chapter_number = $2 FOR NO KEY UPDATE"

KEEP_DIGEST = """
    INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (chapter_id, content_hash) DO UPDATE SET created_at = now()
"""


async def keep_digests(pool: asyncpg.Pool, book_id: int, digests: Sequence[Digest]) -> None:
    """Store digests just made for texts that had none, such as edited texts, and the facts noted with the digests.

    They are stored at once, so that a model need not make them again if the work that needs them fails.
    """
    for digest in digests:
        async with pool.acquire() as connection, connection.transaction():
            chapter_id = await connection.fetchval(LOCK_CHAPTER, book_id, digest.chapter_number)
            if chapter_id is None:
                continue
            await connection.execute(KEEP_DIGEST, chapter_id, *_values(digest))
            if digest.noted is not None:
                await fact_rows.replace(connection, chapter_id, digest.content_hash, digest.noted)


DELETE_BOOK = "DELETE FROM book WHERE id = $1 AND account_id = $2"


async def delete_book(connection: asyncpg.Connection, account_id: int, book_id: int) -> None:
    await connection.execute(DELETE_BOOK, book_id, account_id)


def _columns(
    plans: Sequence[PlannedChapter],
) -> tuple[list[int], list[str], list[str], list[int], list[dict[str, Any]]]:
    return (
        [plan.number for plan in plans],
        [plan.title for plan in plans],
        [plan.summary for plan in plans],
        [plan.target_word_count for plan in plans],
        [dict(plan.plan) for plan in plans],
    )


def _values(digest: Digest) -> tuple[Any, ...]:
    lists = (digest.facts, digest.threads_opened, digest.threads_closed)
    return digest.content_hash, digest.summary, *map(list, lists)


def _digest(row: Record) -> Digest:
    lists = {name: tuple(row[name]) for name in ("facts", "threads_opened", "threads_closed")}
    return Digest(row["chapter_number"], row["content_hash"], row["digest"], **lists)
