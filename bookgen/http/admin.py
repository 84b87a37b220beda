"""What the staff sees of the whole service."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen.errors import PermissionDenied
from bookgen.http.books_schemas import UsageSum
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, refuses, response_schema
from bookgen.http.edge.keys import DATABASE, IDENTITY, SITE, SUPERVISOR
from bookgen.models import Usage
from bookgen.store import overview


class AccountCounts(Schema):
    total = fields.Integer(required=True)
    blocked = fields.Integer(required=True)


class BookCounts(Schema):
    total = fields.Integer(required=True)
    by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)


class RunCounts(Schema):
    by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)


class ActorCounts(Schema):
    resident = fields.Integer(required=True)
    running = fields.Integer(required=True)
    queued = fields.Integer(required=True)


class ModelUsageSum(UsageSum):
    model = fields.String(required=True)


class TotalUsage(UsageSum):
    by_model = fields.List(fields.Nested(ModelUsageSum), required=True)


class Overview(Schema):
    accounts = fields.Nested(AccountCounts, required=True)
    books = fields.Nested(BookCounts, required=True)
    runs = fields.Nested(RunCounts, required=True)
    actors = fields.Nested(ActorCounts, required=True)
    usage = fields.Nested(TotalUsage, required=True)


@docs(tags=["admin"], summary="Sums over the whole service, for staff")
@response_schema(Overview, 200)
@refuses(PermissionDenied)
async def read_overview(request: web.Request) -> web.Response:
    if not request[IDENTITY].is_staff:
        raise PermissionDenied("This is for staff.")
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
