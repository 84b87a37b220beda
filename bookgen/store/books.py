"""Books. Another account's book is treated as missing, not as forbidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from bookgen.models import Book, BookStatus, FundingSource
from bookgen.store.rows import columns, field_names, mapper, parameters

if TYPE_CHECKING:
    from bookgen.store.database import DB

# The fields that the service sets. The author sets all others.
SERVICE_FIELDS = (
    "id", "account_id", "status", "bible", "authored_bible", "funding_source", "created_at", "updated_at",
    "character_sheet_key", "bible_changes",
)  # fmt: skip
AUTHOR_FIELDS = tuple(name for name in field_names(Book) if name not in SERVICE_FIELDS)


COLUMNS = columns(field_names(Book), "b")

book_of = mapper(Book)


@dataclass(frozen=True, slots=True)
class ListedBook:
    """A book with the number of its chapters and of their words."""

    book: Book
    chapters_count: int
    word_count: int


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


# The fields that a new book may leave out, with their defaults.
DEFAULTS = {field.name: value for field in fields(Book) if (value := _default(field)) is not MISSING}

CREATE = f"""
    INSERT INTO book AS b (account_id, {columns(AUTHOR_FIELDS)})
    VALUES ($1, {parameters(AUTHOR_FIELDS, 2)})
    RETURNING {COLUMNS}
"""


async def create(db: DB, account_id: int, new: Mapping[str, Any]) -> Book:
    """Store a new book as a draft. `new` holds the fields that an author sets; those with a default may be missing."""
    return book_of(await db.fetchrow(CREATE, account_id, *itemgetter(*AUTHOR_FIELDS)({**DEFAULTS, **new})))


FIND = f"SELECT {COLUMNS} FROM book b WHERE b.id = $2 AND b.account_id = $1"


async def find(db: DB, account_id: int, book_id: int) -> Book | None:
    row = await db.fetchrow(FIND, account_id, book_id)
    return row and book_of(row)


@dataclass(frozen=True, slots=True)
class BookVersion:
    """A version string that changes with the book, its chapters, pictures, covers, run or model calls.

    `active`: the book's newest run is queued, running or paused, so the book may change at any time. `chapters`: the
    versions of all chapters in one string, which `of_chapters` splits.
    """

    active: bool
    version: str
    chapters: str | None

    def of_chapters(self) -> dict[int, str]:
        """The version of each chapter, by chapter id."""
        return {int(each.partition(".")[0]): each for each in (self.chapters or "").split(",") if each}


# A row's `xmin` is the transaction that wrote it, so it differs between two versions of a row. Rows of `model_call` are
# only ever added, so their count is enough.
VERSION = """
    SELECT coalesce(r.status IN ('queued', 'running', 'paused'), false) AS active,
           concat_ws(
               '/', b.xmin, r.xmin,
               (SELECT count(*) FROM run q
                 WHERE q.account_id = b.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq),
               k.chapters,
               'covers', (SELECT string_agg(concat(c.id, '.', c.xmin), ',' ORDER BY c.id)
                            FROM cover c WHERE c.book_id = b.id),
               'pictures', (SELECT string_agg(concat(i.id, '.', i.xmin), ',' ORDER BY i.id)
                              FROM chapter c JOIN illustration i ON i.chapter_id = c.id WHERE c.book_id = b.id),
               'calls', (SELECT count(*) FROM model_call m WHERE m.book_id = b.id)) AS version,
           k.chapters
      FROM book b
      LEFT JOIN LATERAL (SELECT run.status, run.xmin, run.queue_seq
                           FROM run WHERE run.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r ON true
     CROSS JOIN LATERAL (SELECT string_agg(concat(c.id, '.', c.xmin), ',' ORDER BY c.id) AS chapters
                           FROM chapter c WHERE c.book_id = b.id) k
     WHERE b.account_id = $1 AND b.id = $2
"""


async def version(db: DB, account_id: int, book_id: int) -> BookVersion | None:
    """The version of the account's book, computed without reading its texts. None if there is no such book."""
    row = await db.fetchrow(VERSION, account_id, book_id)
    return row and BookVersion(row["active"], row["version"], row["chapters"])


VERSION_OF_LIST = """
    SELECT concat_ws('/', l.books, l.queue) AS version
      FROM (
           SELECT string_agg(
                      concat_ws('.', b.id, b.xmin, r.xmin, k.chapters, k.words, c.id), ',' ORDER BY b.id) AS books,
                  (SELECT string_agg(concat(q.queue_seq), ',' ORDER BY q.queue_seq)
                     FROM run q WHERE q.account_id = $1 AND q.status = 'queued') AS queue
             FROM book b
            CROSS JOIN LATERAL (SELECT count(*) AS chapters, sum(word_count) AS words
                                  FROM chapter WHERE book_id = b.id) k
             LEFT JOIN LATERAL (SELECT run.xmin
                                  FROM run WHERE run.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r ON true
             LEFT JOIN cover c ON c.book_id = b.id AND c.is_selected
            WHERE b.account_id = $1) l
"""


async def version_of_list(db: DB, account_id: int) -> str:
    """The version of the account's list of books, with their progress and covers."""
    version: str = await db.fetchval(VERSION_OF_LIST, account_id)
    return version


LOCK = f"{FIND} FOR NO KEY UPDATE"


async def lock(db: DB, account_id: int, book_id: int) -> Book | None:
    """Lock the account's book against other writers until the transaction ends, and return the book.

    Always lock a book before its chapters.
    """
    row = await db.fetchrow(LOCK, account_id, book_id)
    return row and book_of(row)


LOCK_AGAINST_DELETION = "SELECT 1 FROM book WHERE id = $1 FOR KEY SHARE"


async def lock_against_deletion(db: DB, book_id: int) -> None:
    """Keep the book from being deleted until the transaction ends. Other transactions may still change it."""
    await db.execute(LOCK_AGAINST_DELETION, book_id)


RECENT = f"""
    SELECT {COLUMNS}, c.chapters_count, c.word_count
      FROM book b
     CROSS JOIN LATERAL (SELECT count(*) AS chapters_count, coalesce(sum(word_count), 0)::bigint AS word_count
                           FROM chapter WHERE book_id = b.id) c
     WHERE b.account_id = $1
     ORDER BY b.updated_at DESC, b.id DESC
     LIMIT $2
"""


async def recent(db: DB, account_id: int, limit: int | None = None) -> list[ListedBook]:
    """The account's books with the sums of their chapters, most recently updated first."""
    return [
        ListedBook(book_of(row), row["chapters_count"], row["word_count"])
        for row in await db.fetch(RECENT, account_id, limit)
    ]


TITLES = "SELECT id, title FROM book WHERE account_id = $1 ORDER BY updated_at DESC, id DESC"


async def titles(db: DB, account_id: int) -> list[dict[str, Any]]:
    return [dict(row) for row in await db.fetch(TITLES, account_id)]


SAVED = (*AUTHOR_FIELDS, "status")

SAVE = f"UPDATE book SET ({columns(SAVED)}, updated_at) = ({parameters(SAVED, 2)}, now()) WHERE id = $1"


async def save(db: DB, book: Book, changes: Mapping[str, Any]) -> None:
    """Write the changed fields of a book. The caller has checked its owner."""
    await db.execute(SAVE, book.id, *attrgetter(*SAVED)(replace(book, **changes)))


TOUCH = "UPDATE book SET updated_at = now() WHERE id = $1"


async def touch(db: DB, book_id: int) -> None:
    """Set the time of the book's last change to now."""
    await db.execute(TOUCH, book_id)


# The author's entries replace the model's, field by field. A field set to null is removed.
CHANGE_BIBLE = f"""
    UPDATE book AS b
       SET bible = jsonb_strip_nulls(b.bible || $3), authored_bible = jsonb_strip_nulls(b.authored_bible || $3),
           updated_at = now()
     WHERE b.id = $2 AND b.account_id = $1
    RETURNING {COLUMNS}
"""


async def change_bible(db: DB, account_id: int, book_id: int, changes: Mapping[str, Any]) -> Book | None:
    """Set fields of the story bible; null removes one. Returns the book, or None if the account has no such book."""
    row = await db.fetchrow(CHANGE_BIBLE, account_id, book_id, dict(changes))
    return row and book_of(row)


KEEP_BIBLE_CHANGES = "UPDATE book SET bible_changes = $2 WHERE id = $1"


async def keep_bible_changes(db: DB, book_id: int, changes: Sequence[Mapping[str, str]]) -> None:
    """Store the list of the author's changes to the story bible. The caller has checked the book's owner."""
    await db.execute(KEEP_BIBLE_CHANGES, book_id, [dict(change) for change in changes])


SETTINGS = "export_settings"
COPIED = (*(name for name in AUTHOR_FIELDS if name != SETTINGS), "bible", "authored_bible", "bible_changes")

# An ISBN names one edition, so a copy has none.
COPY = f"""
    INSERT INTO book AS b (account_id, {columns(COPIED)}, {SETTINGS})
    SELECT account_id, {columns(COPIED)}, {SETTINGS} - 'isbn' FROM book WHERE id = $2 AND account_id = $1
    RETURNING {COLUMNS}
"""

COPY_CHAPTERS = """
    INSERT INTO chapter
        (book_id, chapter_number, title, summary, plan, content, word_count, target_word_count, status, writer)
    SELECT $2, chapter_number, title, summary, plan, content, word_count, target_word_count,
           CASE WHEN content = '' THEN 'pending' ELSE 'completed' END, writer
      FROM chapter
     WHERE book_id = $1
"""

COPY_FACTS = """
    INSERT INTO fact (chapter_id, content_hash, kind, event, subject, value, quote, correction, status, reason)
    SELECT copy.id, f.content_hash, f.kind, f.event, f.subject, f.value, f.quote, f.correction, f.status, f.reason
      FROM chapter original
      JOIN fact f ON f.chapter_id = original.id
      JOIN chapter copy ON copy.book_id = $2 AND copy.chapter_number = original.chapter_number
     WHERE original.book_id = $1
     ORDER BY f.id
"""

COPY_DIGESTS = """
    INSERT INTO digest (chapter_id, content_hash, summary, facts, threads_opened, threads_closed)
    SELECT copy.id, d.content_hash, d.summary, d.facts, d.threads_opened, d.threads_closed
      FROM chapter original
      JOIN digest d ON d.chapter_id = original.id
      JOIN chapter copy ON copy.book_id = $2 AND copy.chapter_number = original.chapter_number
     WHERE original.book_id = $1
"""


async def duplicate(db: DB, account_id: int, book_id: int) -> Book | None:
    """Copy a book with its texts as a new draft. None if the account has no such book.

    Pictures, runs, revisions and funding are not copied.
    """
    row = await db.fetchrow(COPY, account_id, book_id)
    if row is None:
        return None
    copy = book_of(row)
    await db.execute(COPY_CHAPTERS, book_id, copy.id)
    await db.execute(COPY_DIGESTS, book_id, copy.id)
    await db.execute(COPY_FACTS, book_id, copy.id)
    return copy


CHARACTER_SHEET = "SELECT character_sheet_key FROM book WHERE id = $1"


async def character_sheet(db: DB, book_id: int) -> str | None:
    """The media key of the character sheet (a picture of the hero) of a children's book. None if it has none."""
    key: str | None = await db.fetchval(CHARACTER_SHEET, book_id)
    return key


SET_CHARACTER_SHEET = "UPDATE book SET character_sheet_key = $2, updated_at = now() WHERE id = $1"


async def set_character_sheet(db: DB, book_id: int, key: str) -> None:
    await db.execute(SET_CHARACTER_SHEET, book_id, key)


COPY_CHARACTER_SHEET = """
    UPDATE book copied
       SET character_sheet_key = sheet.copy
      FROM book original
      JOIN unnest($3::text[], $4::text[]) AS sheet (original, copy) ON sheet.original = original.character_sheet_key
     WHERE original.id = $1 AND copied.id = $2
"""


async def copy_character_sheet(db: DB, book_id: int, copy_id: int, keys: Mapping[str, str]) -> None:
    """Give the copied book its character sheet. `keys` maps the original media keys to those of the copies."""
    await db.execute(COPY_CHARACTER_SHEET, book_id, copy_id, list(keys), list(keys.values()))


SET_STATUS = """
    UPDATE book
       SET status = $2, funding_source = coalesce($3, funding_source),
           updated_at = CASE WHEN $4 THEN now() ELSE updated_at END
     WHERE id = $1
"""


async def set_status(
    db: DB, book_id: int, status: BookStatus, funding_source: FundingSource | None = None, *, touch: bool = True
) -> None:
    """Set the book's status and, if given, its funding source. `touch`: also update the time of its last change."""
    await db.execute(SET_STATUS, book_id, status, funding_source, touch)
