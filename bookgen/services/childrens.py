"""Creates children's books: drafts whose chapters are spreads of two pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bookgen.billing import addons
from bookgen.billing.quota import Quota
from bookgen.billing.storage import require_stored
from bookgen.models import AgeRange, Book, BookKind
from bookgen.store import books, material
from bookgen.store.material import PlannedChapter
from bookgen.writing.picture_book.ages import AGE_LIMITS

if TYPE_CHECKING:
    from asyncpg import Connection

TRIM = "8.5x8.5"
PAGES_OF_A_SPREAD = 2


async def create_childrens(connection: Connection, quota: Quota, account_id: int, new: Mapping[str, Any]) -> Book:
    """Store a draft with empty spreads. Their contents are planned by POST …/generate-outline/ or when writing starts.

    Raises PlanUpgradeRequired without the add-on or without storage for the book. Raises PlanUpgradeRequired or
    BookQuotaExceeded if neither the plan's allowance nor a credit can pay for the book.
    """
    age, spreads = AgeRange(new["age_range"]), new["page_count"] // PAGES_OF_A_SPREAD
    words = AGE_LIMITS[age].words
    fields = {
        "title": new["title"],
        "subtitle": "",
        "author_name": new["author_name"],
        "genre": "Children's",
        "target_audience": f"Children of {age} years",
        "description": "",
        "blurb": new["blurb"],
        "style_notes": "",
        "chapter_count": spreads,
        "target_word_count": spreads * words,
        "trim_size": TRIM,
        "content_language": new["content_language"],
        "kind": BookKind.CHILDRENS,
        "age_range": age,
        "theme": new["theme"],
        "characters": new["characters"],
        "export_settings": new["export_settings"],
    }
    async with connection.transaction():
        standing = await quota.standing(connection, account_id)
        await addons.require(connection, quota, standing, addons.CHILDRENS_BOOK)
        await quota.require_book(connection, account_id, spreads * words)
        book = await books.create(connection, account_id, fields)
        await require_stored(connection, quota, account_id)
        plans = [PlannedChapter(number, f"Spread {number}", "", words) for number in range(1, spreads + 1)]
        await material.add_chapters(connection, book.id, plans)
    return book
