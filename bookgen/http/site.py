"""Statistics, the overview for staff, public settings and the support assistant."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from bookgen.errors import PermissionDenied
from bookgen.http import site_schemas as shapes
from bookgen.http.books import with_progress
from bookgen.http.books_schemas import GENRES
from bookgen.http.edge import clients, replies
from bookgen.http.edge.admission import take_from_shared
from bookgen.http.edge.contract import conditional, docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.schemas import as_json
from bookgen.models import LANGUAGES, Usage
from bookgen.rate_limits import Budget, address_bucket
from bookgen.render.formats import FORMATS
from bookgen.render.trim import TRIMS
from bookgen.store import books, exports, overview, stats

RECENT_BOOKS = 5
# How many answers of the model an address gets per day. Further answers quote the documents without a model.
MODEL_ANSWERS = Budget(50, 86_400)


@docs(
    "site",
    "Read statistics of your books",
    "How many books, chapters, words, exports and images you have, and the five most recently updated books.",
)
@response_schema(shapes.StatsSchema)
@conditional
async def show_stats(request: web.Request) -> web.Response:
    db, account_id = request.app[SERVICES].database.http, request[ACCOUNT_ID]
    sums = await stats.of_account(db, account_id)
    usage = await request.app[SERVICES].quota.usage(db, account_id)
    recent = await books.recent(db, account_id, limit=RECENT_BOOKS)
    answer = as_json(
        shapes.StatsSchema,
        sums,
        books_total=sum(sums.books_by_status.values()),
        words_this_period=usage.words_generated,
        exports_total=await exports.total(db, account_id),
        recent_books=await with_progress(request, recent),
    )
    return replies.json(answer)


@docs("admin", "Read statistics of the whole service (staff only)", "Counts accounts, books, runs and all model usage.")
@response_schema(shapes.OverviewSchema, 200)
@refuses(PermissionDenied)
async def read_overview(request: web.Request) -> web.Response:
    await request.app[SERVICES].accounts.require_staff(request[ACCOUNT_ID])
    db = request.app[SERVICES].database.http
    by_status, runs = await overview.books_by_status(db), await overview.runs_by_status(db)
    return replies.json(
        {
            "accounts": await overview.accounts(db),
            "books": {"total": sum(by_status.values()), "by_status": by_status},
            "runs": {"by_status": runs},
            "actors": {**request.app[SERVICES].supervisor.counts(), "queued": runs.get("queued", 0)},
            "usage": _usage(await overview.usage_by_model(db), request.app[SERVICES].site.currency),
        }
    )


@docs(
    "site",
    "Read the public settings of this service",
    "The features of this server, and the allowed values for books and exports.",
)
@response_schema(shapes.PublicSettingsSchema)
@conditional
async def public_settings(request: web.Request) -> web.Response:
    site = request.app[SERVICES].site
    answer = as_json(
        shapes.PublicSettingsSchema,
        site,
        genres=GENRES,
        trim_sizes=[as_json(shapes.TrimSizeChoiceSchema, trim, value=trim.name) for trim in TRIMS.values()],
        languages=[{"value": tag, "label": label} for tag, label in LANGUAGES.items()],
        export_formats=[
            as_json(shapes.ExportFormatSchema, each, value=each.name, settings=sorted(each.settings))
            for each in FORMATS.values()
        ],
        export_settings=site.export_defaults,
        features={
            "google_sign_in": site.google_client_id is not None,
            "billing": site.billing_enabled,
            "payments": site.accepts_payments,
            "email": site.sends_mail,
            "registration": site.registration_enabled,
            "support_assistant": True,
        },
    )
    return replies.json(answer)


@docs(
    "site",
    "Ask the support assistant about the product",
    "The answer is based on this service's documentation and names the pages that it used. Send earlier messages as "
    "`history`.",
)
@json_schema(shapes.QuestionSchema)
@response_schema(shapes.AnswerSchema)
async def ask(request: web.Request) -> web.Response:
    asked = request[BODY]
    address = address_bucket(clients.address(request, request.app))
    budget = await take_from_shared(request.app, "model answers", address, MODEL_ANSWERS)
    found = await request.app[SERVICES].support.ask(
        asked["question"],
        asked["history"],
        by_model=budget.allowed,
        asked_by_caller=budget.limit - budget.remaining,
    )
    return replies.json(asdict(found))


def _usage(by_model: list[overview.ModelUsage], currency: str) -> dict[str, Any]:
    total = sum((each.usage for each in by_model), Usage())
    return {
        **asdict(total),
        "currency": currency,
        "by_model": [{"model": each.model, **asdict(each.usage), "currency": currency} for each in by_model],
    }
