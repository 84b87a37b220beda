"""Plans: rows that an operator may edit, read anew each time so that a change needs no restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asyncpg import Record

from bookgen.models import UNLIMITED, Features, Plan
from bookgen.store.database import DB

NO_BOUND = 2**31 - 1  # what a book's column holds

FIND = """
    SELECT id, slug, name, description, price_monthly, price_yearly, is_active, sort_order, features
      FROM plan
     WHERE slug = $1
"""

LIST_ACTIVE = """
    SELECT id, slug, name, description, price_monthly, price_yearly, is_active, sort_order, features
      FROM plan
     WHERE is_active
     ORDER BY sort_order, id
"""


async def find(db: DB, slug: str) -> Plan | None:
    row = await db.fetchrow(FIND, slug)
    return row and plan(row)


async def list_active(db: DB) -> list[Plan]:
    return [plan(row) for row in await db.fetch(LIST_ACTIVE)]


def plan(row: Record | Mapping[str, Any]) -> Plan:
    limits = row["features"]
    return Plan(
        id=row["id"],
        slug=row["slug"],
        name=row["name"],
        description=row["description"],
        price_monthly=row["price_monthly"],
        price_yearly=row["price_yearly"],
        is_active=row["is_active"],
        sort_order=row["sort_order"],
        features=_features(limits),
        limits=limits,
    )


def _features(limits: Mapping[str, Any]) -> Features:
    most_words = limits["max_word_count_per_book"]
    return Features(
        books_per_month=limits["books_per_month"],
        ai_images_per_month=limits["ai_images_per_month"],
        ai_edits_per_month=limits["ai_edits_per_month"],
        proofreading_checks_per_month=limits["proofreading_checks_per_month"],
        export_formats=tuple(limits["export_formats"]),
        watermark=limits["watermark"],
        max_word_count_per_book=NO_BOUND if most_words == UNLIMITED else most_words,
        max_stored_mb=limits["max_stored_mb"],
        chapter_images=limits["chapter_images"],
    )
