"""The only map from a domain error to its place on the wire, and the envelope around it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import asyncpg
from aiohttp import web

from bookgen import errors
from bookgen.http.edge import replies
from bookgen.http.edge.schemas import by_field
from bookgen.store.outages import is_passing

WIRE: dict[type[errors.BookgenError], tuple[HTTPStatus, str]] = {
    errors.InvalidInput: (HTTPStatus.BAD_REQUEST, "VALIDATION_ERROR"),
    errors.NoOutline: (HTTPStatus.BAD_REQUEST, "VALIDATION_ERROR"),
    errors.GenerationInProgress: (HTTPStatus.BAD_REQUEST, "GENERATION_IN_PROGRESS"),
    errors.Unauthenticated: (HTTPStatus.UNAUTHORIZED, "AUTHENTICATION_REQUIRED"),
    errors.AuthenticationRequired: (HTTPStatus.UNAUTHORIZED, "AUTHENTICATION_REQUIRED"),
    errors.TokenExpired: (HTTPStatus.UNAUTHORIZED, "TOKEN_EXPIRED"),
    errors.TokenInvalid: (HTTPStatus.UNAUTHORIZED, "TOKEN_INVALID"),
    errors.InvalidCredentials: (HTTPStatus.UNAUTHORIZED, "INVALID_CREDENTIALS"),
    errors.PlanUpgradeRequired: (HTTPStatus.PAYMENT_REQUIRED, "PLAN_UPGRADE_REQUIRED"),
    errors.BookQuotaExceeded: (HTTPStatus.PAYMENT_REQUIRED, "quota_exceeded"),
    errors.PermissionDenied: (HTTPStatus.FORBIDDEN, "PERMISSION_DENIED"),
    errors.NotFound: (HTTPStatus.NOT_FOUND, "NOT_FOUND"),
    errors.MethodNotAllowed: (HTTPStatus.METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
    errors.Conflict: (HTTPStatus.CONFLICT, "CONFLICT"),
    errors.PaymentsNotConfigured: (HTTPStatus.CONFLICT, "PAYMENTS_NOT_CONFIGURED"),
    errors.PayloadTooLarge: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
    errors.QuotaExceeded: (HTTPStatus.TOO_MANY_REQUESTS, "QUOTA_EXCEEDED"),
    errors.RateLimited: (HTTPStatus.TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED"),
    errors.UpstreamAIError: (HTTPStatus.BAD_GATEWAY, "UPSTREAM_AI_ERROR"),
    errors.CostCapReached: (HTTPStatus.BAD_GATEWAY, "UPSTREAM_AI_ERROR"),
    errors.Unavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
    errors.RenderingFailed: (HTTPStatus.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
    errors.RenderTimeout: (HTTPStatus.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
    errors.ProofreadingFailed: (HTTPStatus.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
    errors.CallerLeft: (HTTPStatus.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
    errors.BookgenError: (HTTPStatus.INTERNAL_SERVER_ERROR, "SERVER_ERROR"),
}


def as_domain_error(error: Exception, request_id: str) -> errors.BookgenError:
    """The BookgenError for what a handler raised. An unexpected error reveals only the request id."""
    match error:
        case errors.StartupError():
            pass
        case errors.BookgenError():
            return error
        case web.HTTPMethodNotAllowed():
            return errors.MethodNotAllowed(
                f"Method not allowed here. Allowed: {', '.join(sorted(error.allowed_methods))}."
            )
        case web.HTTPNotFound():
            return errors.NotFound()
        case web.HTTPClientError():
            return errors.InvalidInput(non_field_errors=["The request could not be read."])
        case asyncpg.PostgresError() | asyncpg.InterfaceError() | ConnectionError() | TimeoutError() if is_passing(
            error
        ):
            return errors.Unavailable()
    return errors.BookgenError(
        "An unexpected error occurred. Report the request id if it keeps happening.", request_id=request_id
    )


def is_unforeseen(error: Exception) -> bool:
    """Whether an error would be answered with a bare 500."""
    return place(as_domain_error(error, ""))[0] is HTTPStatus.INTERNAL_SERVER_ERROR


def place(error: errors.BookgenError) -> tuple[HTTPStatus, str]:
    return next(WIRE[cls] for cls in type(error).__mro__ if cls in WIRE)


def envelope(error: errors.BookgenError, public_url: str) -> web.Response:
    status, code = place(error)
    body: dict[str, Any] = {"code": code, "message": str(error), "status": status.value}
    if isinstance(error, errors.InvalidInput):
        body["details"] = by_field(error.details or {"non_field_errors": [str(error)]})
    elif error.details:
        body["details"] = error.details
    body["documentation_url"] = f"{public_url}/api/v1/docs/errors/#{code}"
    return replies.json({"error": body}, status=status, headers=dict(_headers(error, status)))


def _headers(error: errors.BookgenError, status: HTTPStatus) -> Iterator[tuple[str, str]]:
    if status is HTTPStatus.UNAUTHORIZED:
        yield "WWW-Authenticate", 'Bearer realm="api"'
    if isinstance(error, errors.RateLimited | errors.Unavailable):
        yield "Retry-After", str(error.retry_after)
    elif status is HTTPStatus.TOO_MANY_REQUESTS:
        yield "Retry-After", str(_until(error.details.get("period_end")))


def _until(period_end: object) -> int:
    """Seconds until a spent allowance is full again; an hour when it never says."""
    if isinstance(period_end, str):
        period_end = datetime.fromisoformat(period_end)
    if not isinstance(period_end, datetime):
        return 3600
    return max(1, math.ceil((period_end - datetime.now(UTC)).total_seconds()))
