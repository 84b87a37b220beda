"""The metrics and the log line of each request. The log has the route (`/books/{id}/`), never the actual path."""

from __future__ import annotations

import structlog
from aiohttp import web

from bookgen import metrics
from bookgen.http.edge import errors
from bookgen.http.edge.keys import ACCOUNT_ID, REQUEST_ID
from bookgen.http.edge.routing import Route

log = structlog.get_logger("bookgen.http")

NO_ROUTE = "(none)"


def record(
    request: web.BaseRequest,
    route: Route | None,
    response: web.StreamResponse,
    seconds: float,
    failure: Exception | None,
) -> None:
    status, template = response.status, route.path if route else NO_ROUTE
    metrics.answers(request.method if route else "-", template, status).inc()
    metrics.answer_times(template).observe(seconds)
    if route is not None and route.quiet and status < 400:
        return
    fields = {
        "request_id": request[REQUEST_ID],
        "method": request.method,
        "route": template,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "account_id": request.get(ACCOUNT_ID),
    }
    if failure is not None and errors.is_unforeseen(failure):
        log.error("request_failed", **fields, exc_info=failure, to_do="Report the traceback as a bug.")
    else:
        log.info("request", **fields)
