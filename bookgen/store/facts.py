"""Facts of the story that a model has noted in the chapters, and the author's decisions about them.

Each fact has a quote: the passage of the chapter that states it. The author may correct a fact or mark it as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from bookgen.models import Digest, Fact, FactKind, FactStatus
from bookgen.store.rows import mapper

if TYPE_CHECKING:
    from asyncpg import Connection

    from bookgen.store.database import DB

_fact = mapper(Fact)

COLUMNS = """
    f.id, c.chapter_number, f.kind, f.event, f.subject, coalesce(f.correction, f.value) AS value, f.quote, f.status,
    f.reason, CASE WHEN f.correction IS NULL THEN '' ELSE f.value END AS noted
"""

# If the quote of a fact is no longer in the chapter, the fact does not belong to the current text.
HOLDS = "strpos(c.content, f.quote) > 0"

OF_BOOK = f"""
    SELECT {COLUMNS} FROM fact f JOIN chapter c ON c.id = f.chapter_id
     WHERE c.book_id = $1 AND {HOLDS}
     ORDER BY c.chapter_number, strpos(c.content, f.quote), f.id
"""


async def of_book(db: DB, book_id: int) -> list[Fact]:
    """The facts whose quotes are still in the book's text, in the order of the text.

    The caller has checked the book's owner.
    """
    return [_fact(row) for row in await db.fetch(OF_BOOK, book_id)]


FIND = f"""
    SELECT {COLUMNS} FROM fact f JOIN chapter c ON c.id = f.chapter_id JOIN book b ON b.id = c.book_id
     WHERE b.account_id = $1 AND b.id = $2 AND f.id = $3 AND {HOLDS}
"""


async def find(db: DB, account_id: int, book_id: int, fact_id: int) -> Fact | None:
    row = await db.fetchrow(FIND, account_id, book_id, fact_id)
    return _fact(row) if row else None


# The author's decision about a fact is kept if the new text states the fact again. Even if the fact is not noted again,
# it stays as long as its quote is in the text.
REPLACE = f"""
    WITH former AS (
        DELETE FROM fact WHERE chapter_id = $1 RETURNING *
    ), decided AS (
        SELECT * FROM former WHERE correction IS NOT NULL OR status <> 'settled' OR reason <> ''
    ), noted AS (
        SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
                 WITH ORDINALITY AS n (kind, event, subject, value, quote, place)
    ), again AS (
        SELECT DISTINCT ON (n.place) n.place, d.id, d.correction, d.status, d.reason
          FROM noted n JOIN decided d ON d.kind = n.kind AND d.event IS NOT DISTINCT FROM n.event
                                     AND d.subject = n.subject AND (d.value = n.value OR d.quote = n.quote)
         ORDER BY n.place, d.value = n.value DESC, d.id
    )
    INSERT INTO fact (chapter_id, content_hash, kind, event, subject, value, quote, correction, status, reason)
    SELECT $1, $2, kind, event, subject, value, quote, correction, status, reason
      FROM (SELECT n.kind, n.event, n.subject, n.value, n.quote, a.correction,
                   coalesce(a.status, 'settled') AS status, coalesce(a.reason, '') AS reason, n.place
              FROM noted n LEFT JOIN again a ON a.place = n.place
             UNION ALL
            SELECT f.kind, f.event, f.subject, f.value, f.quote, f.correction, f.status, f.reason, 1000000 + f.id
              FROM decided f JOIN chapter c ON c.id = f.chapter_id
             WHERE {HOLDS} AND NOT EXISTS (SELECT FROM again WHERE again.id = f.id)) AS every
     ORDER BY place
"""


async def replace(connection: Connection, chapter_id: int, content_hash: str, noted: Sequence[Fact]) -> None:
    """Replace the chapter's facts with those in `noted`, which a model has found in the chapter's stored text.

    `content_hash`: the hash of that text. If a fact is noted again, the author's decision about it is carried over. If
    a fact with a decision is not noted again, it stays as long as its quote is still in the text.
    """
    names = ("kind", "event", "subject", "value", "quote")
    values = ([getattr(fact, name) for fact in noted] for name in names)
    await connection.execute(REPLACE, chapter_id, content_hash, *values)


DECIDE = """
    UPDATE fact
       SET correction = CASE WHEN $2::text IS NULL THEN correction ELSE nullif($2, value) END,
           status = coalesce($3, status), reason = coalesce($4, reason)
     WHERE id = $1
"""


async def decide(
    connection: Connection,
    fact_id: int,
    value: str | None = None,
    status: FactStatus | None = None,
    reason: str | None = None,
) -> None:
    """Store what the author has decided about a fact. An argument of None leaves its column unchanged."""
    await connection.execute(DECIDE, fact_id, value, status, reason)


def corrected(digests: Mapping[int, Digest], facts: Sequence[Fact]) -> dict[int, Digest]:
    """Apply the author's decisions about the `facts` of a book to the digests of its chapters, by chapter number.

    Facts and plot threads appear as the author has corrected them. Those that the author has marked as wrong are left
    out.
    """
    noted = {number: [fact for fact in facts if fact.chapter_number == number] for number in digests}
    opened = {fact.noted or fact.value: fact for fact in facts if fact.kind is FactKind.THREAD_OPENED}
    reopened = {
        (fact.chapter_number, fact.noted or fact.value)
        for fact in facts
        if fact.kind is FactKind.THREAD_CLOSED and fact.status is FactStatus.WRONG
    }

    def told(threads: Sequence[str]) -> tuple[str, ...]:
        known = ((thread, opened.get(thread)) for thread in threads)
        return tuple(
            fact.value if fact else thread for thread, fact in known if not fact or fact.status is not FactStatus.WRONG
        )

    return {
        number: changed(
            digest,
            facts=tuple(fact.prompt_text for fact in noted[number] if fact.is_in_prompts)
            if noted[number]
            else digest.facts,
            settled=tuple(fact.prompt_text for fact in noted[number] if fact.is_decided),
            threads_opened=told(digest.threads_opened),
            threads_closed=told([each for each in digest.threads_closed if (number, each) not in reopened]),
        )
        for number, digest in digests.items()
    }
