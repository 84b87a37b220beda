"""A book with everything its detail view needs besides the chapters, read in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bookgen.models import Book, Usage
from bookgen.store.books import COLUMNS, book_of

if TYPE_CHECKING:
    from bookgen.store.database import DB

SUMS = ("input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens", "images", "cost_micros")


@dataclass(frozen=True, slots=True)
class WholeBook:
    """A book with the total usage of its model calls. `findings`: the quality notes of its chapters."""

    book: Book
    usage: Usage
    findings: Sequence[Mapping[str, Any]]
    has_covers: bool
    has_pictures: bool


FIND = f"""
    SELECT {COLUMNS}, c.findings, u.*,
           EXISTS (SELECT FROM cover WHERE cover.book_id = b.id) AS has_covers,
           EXISTS (SELECT FROM chapter d JOIN illustration i ON i.chapter_id = d.id WHERE d.book_id = b.id)
               AS has_pictures
      FROM book b
     CROSS JOIN LATERAL (
           SELECT coalesce(jsonb_agg(jsonb_build_array(chapter_number, quality) ORDER BY chapter_number)
                               FILTER (WHERE quality <> '[]'), '[]') AS findings
             FROM chapter WHERE chapter.book_id = b.id) c
     CROSS JOIN LATERAL (
           SELECT count(*) AS calls, {", ".join(f"coalesce(sum({name}), 0)::bigint AS {name}" for name in SUMS)},
                  coalesce(bool_or(cost_micros IS NULL), false) AS unknown_price
             FROM model_call WHERE model_call.book_id = b.id) u
     WHERE b.id = $2 AND b.account_id = $1
"""


async def find(db: DB, account_id: int, book_id: int) -> WholeBook | None:
    """The account's book, with the quality notes in the order of the chapters. None if the account has no such book."""
    row = await db.fetchrow(FIND, account_id, book_id)
    if row is None:
        return None
    usage = Usage(**{name: row[name] for name in ("calls", *SUMS, "unknown_price")})
    findings = [{"chapter_number": number, **each} for number, quality in row["findings"] for each in quality]
    return WholeBook(book_of(row), usage, findings, row["has_covers"], row["has_pictures"])
