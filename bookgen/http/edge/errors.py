"""Error responses: turns an exception into a status, an error code and the JSON error object."""

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
from bookgen.store.outages import is_transient

# If a method is not allowed, the error suggests the first of these that is.
_METHODS = ("GET", "POST", "PATCH", "DELETE")
UNREADABLE = "The request could not be read. Check its headers and body, then send it again."


def as_domain_error(error: Exception, request_id: str, path: str = "") -> errors.BookgenError:
    """The BookgenError to return after a handler raised `error`. An unexpected error reveals only the request id.

    `path`: the path of the request, which the message about a wrong method contains.
    """
    match error:
        case errors.StartupError():
            pass
        case errors.BookgenError():
            return error
        case web.HTTPMethodNotAllowed():
            allowed = error.allowed_methods
            works = next((method for method in _METHODS if method in allowed), "GET")
            return errors.MethodNotAllowed(
                f"Method not allowed here. Allowed: {', '.join(sorted(allowed))}. Send {works} {path} instead."
            )
        case web.HTTPNotFound():
            return errors.NoSuchPath()
        case web.HTTPClientError():
            return errors.InvalidInput(non_field_errors=[UNREADABLE])
        case (
            asyncpg.PostgresError() | asyncpg.InterfaceError() | asyncpg.InternalClientError()
            | ConnectionError() | TimeoutError()
        ) if is_transient(error):  # fmt: skip
            return errors.Unavailable()
    return errors.BookgenError(
        "An unexpected error occurred. Report the request id if it keeps happening.", request_id=request_id
    )


def is_unforeseen(error: Exception) -> bool:
    """Whether an error is unexpected. The response is then a 500 without details."""
    return as_domain_error(error, "").wire.status == HTTPStatus.INTERNAL_SERVER_ERROR


def envelope(error: errors.BookgenError, public_url: str) -> web.Response:
    status, code = HTTPStatus(error.wire.status), error.wire.code
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
    """The value of Retry-After: the seconds until `period_end`, when the caller's quota is renewed; at least 1.

    Without a usable `period_end`, the value is one hour.
    """
    if isinstance(period_end, str):
        period_end = datetime.fromisoformat(period_end)
    if not isinstance(period_end, datetime):
        return 3600
    return max(1, math.ceil((period_end - datetime.now(UTC)).total_seconds()))
