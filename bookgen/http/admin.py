"""What the staff sees of the whole service."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from bookgen.errors import PermissionDenied
from bookgen.http.admin_schemas import OverviewSchema
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, ACCOUNTS, DATABASE, SITE, SUPERVISOR
from bookgen.models import Usage
from bookgen.store import overview


@docs(
    tags=["admin"],
    summary="Sums over the whole service, for staff",
    description="Accounts, books, runs and all model usage.",
)
@response_schema(OverviewSchema, 200)
@refuses(PermissionDenied)
async def read_overview(request: web.Request) -> web.Response:
    await request.app[ACCOUNTS].require_staff(request[ACCOUNT_ID])
    db = request.app[DATABASE].http
    books = await overview.books_by_status(db)
    runs = await overview.runs_by_status(db)
    return replies.json(
        {
            "accounts": await overview.accounts(db),
            "books": {"total": sum(books.values()), "by_status": books},
            "runs": {"by_status": runs},
            "actors": {**request.app[SUPERVISOR].counts(), "queued": runs.get("queued", 0)},
            "usage": _usage(await overview.usage_by_model(db), request.app[SITE].currency),
        }
    )


def _usage(by_model: list[overview.ModelUsage], currency: str) -> dict[str, Any]:
    total = sum((each.usage for each in by_model), Usage())
    return {
        **asdict(total),
        "currency": currency,
        "by_model": [{"model": each.model, **asdict(each.usage), "currency": currency} for each in by_model],
    }
