"""Reports of proofreaders and editors: create and read them, preview, apply and dismiss their suggestions."""

from __future__ import annotations

from urllib.parse import urlencode

from aiohttp import web

from bookgen import errors
from bookgen.http import proofreading_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.contract import (
    asks_model,
    conditional,
    docs,
    grows,
    guarded_by,
    json_schema,
    querystring_schema,
    refuses,
    repeatable,
    response_schema,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, QUERY, SERVICES
from bookgen.http.edge.routing import path_id
from bookgen.http.edge.schemas import as_json
from bookgen.models import ReportKind
from bookgen.services.proofreading import PAGE_SIZE
from bookgen.store import reports
from bookgen.store.suggestions import Filter

may_refuse_a_report = refuses(
    errors.NotFound,
    errors.GenerationInProgress,
    errors.Conflict,
    errors.PlanUpgradeRequired,
    errors.QuotaExceeded,
)


@docs(
    "proofreading",
    "Start a proofreading report",
    "Returns immediately. The report is created in the background, even if the server restarts. Poll the report until "
    "its `status` is `completed` or `error`.",
)
@json_schema(shapes.ReportRequestSchema)
@response_schema(shapes.ReportSchema, 202)
@may_refuse_a_report
@grows
@repeatable
@asks_model
async def create_report(request: web.Request) -> web.Response:
    asked = request[BODY]
    report = await request.app[SERVICES].proofreading.start(request[ACCOUNT_ID], asked["book"], asked["chapter_ids"])
    return replies.json(shapes.shown_report(report), status=202)


@docs(
    "proofreading",
    "Have an editor read the book",
    "Returns immediately. In the background, a model reads the whole book as an editor would, and lists "
    "contradictions, loose ends, repetitions and other findings in a report of the kind `review`. A suggestion without "
    "`suggested_text` is a finding that you fix yourself. The text is not changed. Counts as a proofreading check.",
)
@response_schema(shapes.ReportSchema, 202)
@may_refuse_a_report
@grows
@repeatable
@asks_model
async def review_book(request: web.Request) -> web.Response:
    report = await request.app[SERVICES].proofreading.start(
        request[ACCOUNT_ID], path_id(request), kind=ReportKind.REVIEW
    )
    return replies.json(shapes.shown_report(report), status=202)


@docs("proofreading", "List your reports", "Newest first. Use `book` to list the reports of one book.")
@querystring_schema(shapes.ReportQuerySchema)
@response_schema(shapes.ReportSchema(many=True))
@conditional
async def list_reports(request: web.Request) -> web.Response:
    found = await reports.of_account(request.app[SERVICES].database.http, request[ACCOUNT_ID], request[QUERY]["book"])
    return replies.json([shapes.shown_report(report) for report in found])


@docs("proofreading", "Read a report", "Poll the report until its `status` is `completed` or `error`.")
@response_schema(shapes.ReportSchema)
@conditional
async def read_report(request: web.Request) -> web.Response:
    return replies.json(
        shapes.shown_report(await request.app[SERVICES].proofreading.find(request[ACCOUNT_ID], path_id(request)))
    )


@docs(
    "proofreading",
    "Delete a report",
    "A report in progress is canceled. If it has begun to read the book, it counts as a proofreading check.",
)
@response_schema(None, 204)
@refuses(errors.Conflict)
@guarded_by(read_report)
async def delete_report(request: web.Request) -> web.Response:
    await request.app[SERVICES].proofreading.delete(request[ACCOUNT_ID], path_id(request))
    return replies.nothing()


@docs("proofreading", "List a report's suggestions", "20 a page, the most severe first, then in the order of the book.")
@querystring_schema(shapes.SuggestionQuerySchema)
@response_schema(shapes.SuggestionPageSchema)
@conditional
async def list_suggestions(request: web.Request) -> web.Response:
    proofreading, query, report_id = request.app[SERVICES].proofreading, request[QUERY], path_id(request)
    await proofreading.find(request[ACCOUNT_ID], report_id)
    chosen = Filter(query["type"], query["severity"], query["status"], query["chapter"], query["safe"])
    count, found = await proofreading.page(request[ACCOUNT_ID], report_id, chosen, query["page"])
    return replies.json(
        {
            "count": count,
            "next": _page_url(request, query["page"] + 1) if query["page"] * PAGE_SIZE < count else None,
            "previous": _page_url(request, query["page"] - 1) if query["page"] > 1 else None,
            "results": [shapes.shown_suggestion(suggestion) for suggestion in found],
        }
    )


@docs(
    "proofreading",
    "Preview a suggestion",
    "Returns what applying the suggestion would change, but changes nothing.",
)
@response_schema(shapes.PreviewSchema)
@refuses(errors.Conflict)
@conditional
async def preview_suggestion(request: web.Request) -> web.Response:
    preview = await request.app[SERVICES].proofreading.preview(*_suggestion(request))
    return replies.json(as_json(shapes.PreviewSchema, preview))


@docs(
    "proofreading",
    "Apply a suggestion",
    "Returns the suggestion. Its `status` is `applied`, or `stale` if the text has changed and nothing was applied.",
)
@response_schema(shapes.SuggestionSchema)
@refuses(errors.Conflict, errors.PlanUpgradeRequired)
@grows
async def apply_suggestion(request: web.Request) -> web.Response:
    return replies.json(
        shapes.shown_suggestion(await request.app[SERVICES].proofreading.apply_one(*_suggestion(request)))
    )


@docs("proofreading", "Dismiss a suggestion", "Later reports on this book leave the suggestion out as well.")
@response_schema(shapes.SuggestionSchema)
@refuses(errors.Conflict)
async def dismiss_suggestion(request: web.Request) -> web.Response:
    return replies.json(
        shapes.shown_suggestion(await request.app[SERVICES].proofreading.dismiss(*_suggestion(request)))
    )


@docs(
    "proofreading",
    "Apply many suggestions",
    "Applies the suggestions with the given ids, all pending suggestions of the given severities, or all pending "
    "suggestions that are `safe` because they only correct spelling or punctuation. Works chapter by "
    "chapter. Ids that do not belong to this report are returned in `unknown_ids`.",
)
@json_schema(shapes.ApplyManySchema)
@response_schema(shapes.OutcomeSchema)
@refuses(errors.PlanUpgradeRequired)
@grows
async def apply_suggestions(request: web.Request) -> web.Response:
    proofreading, report_id, asked = request.app[SERVICES].proofreading, path_id(request), request[BODY]
    await proofreading.find(request[ACCOUNT_ID], report_id)
    unknown: list[int] = []
    if "suggestion_ids" in asked:
        chosen = set(asked["suggestion_ids"])
        unknown = await proofreading.unknown(request[ACCOUNT_ID], report_id, chosen)
        outcome = await proofreading.apply(request[ACCOUNT_ID], report_id, chosen)
    elif "severity" in asked:
        outcome = await proofreading.apply_severe(request[ACCOUNT_ID], report_id, set(asked["severity"]))
    else:
        outcome = await proofreading.apply_safe(request[ACCOUNT_ID], report_id)
    body = {"applied": outcome.applied, "stale": outcome.stale, "chapters": outcome.chapters}
    return replies.json(body | ({"unknown_ids": unknown} if unknown else {}))


def _suggestion(request: web.Request) -> tuple[int, int, int]:
    """The id of the account, and the ids of the report and of the suggestion in the path."""
    return request[ACCOUNT_ID], path_id(request), path_id(request, "suggestion_id")


def _page_url(request: web.Request, number: int) -> str:
    others = {name: value for name, value in request.query.items() if name != "page"}
    path = f"/api/v1/proofreading-reports/{path_id(request)}/suggestions/"
    return f"{request.app[SERVICES].site.public_url}{path}?{urlencode({**others, 'page': number})}"
