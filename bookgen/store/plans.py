"""Plans. An operator may edit the rows, which are read each time, so a change needs no restart."""

from __future__ import annotations

from operator import itemgetter

from asyncpg import Record

from bookgen.models import UNLIMITED, Features, Plan
from bookgen.store.database import DB
from bookgen.store.rows import columns, field_names, mapper

NO_BOUND = 2**31 - 1  # the largest value of the column `book.target_word_count`

COLUMNS = columns([name for name in field_names(Plan) if name != "limits"], "p")


def _features(row: Record) -> Features:
    limits = {name: row["features"][name] for name in field_names(Features)}
    if limits["max_word_count_per_book"] == UNLIMITED:
        limits["max_word_count_per_book"] = NO_BOUND
    return Features(**{**limits, "export_formats": tuple(limits["export_formats"])})


plan_of = mapper(Plan, features=_features, limits=itemgetter("features"))

FIND = f"SELECT {COLUMNS} FROM plan p WHERE p.slug = $1"


async def find(db: DB, slug: str) -> Plan | None:
    row = await db.fetchrow(FIND, slug)
    return row and plan_of(row)


LIST_ACTIVE = f"SELECT {COLUMNS} FROM plan p WHERE p.is_active ORDER BY p.sort_order, p.id"


async def list_active(db: DB) -> list[Plan]:
    return [plan_of(row) for row in await db.fetch(LIST_ACTIVE)]
