"""The client's errors, one class for each kind of error that a caller may handle.

An error gets the same class if an older server or a proxy sends it in another form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """The service refused a call, or it failed. `code` is the error code of the API, `details` has further facts."""

    def __init__(
        self, status: int, code: str, message: str, details: Mapping[str, Any] | None = None, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details or {}
        self.retry_after = retry_after


def reasons(details: Mapping[str, Any]) -> list[str]:
    """The messages of a validation error, field by field."""
    return [f"{field}: {' '.join(map(str, told))}" for field, told in details.items() if isinstance(told, list)]


class InvalidRequest(ApiError):
    """The request is invalid. `details` maps each wrong field to its messages."""


class GenerationInProgress(ApiError):
    """A run is already active on the book."""


class Unauthenticated(ApiError):
    """The token is missing or invalid, or the credentials are wrong."""


class PermissionDenied(ApiError):
    """The account may not do this, or it is blocked."""


class PlanUpgradeRequired(ApiError):
    """The account's plan does not include the action."""


class QuotaExceeded(ApiError):
    """An allowance of the plan is used up until the next period."""


class NotFound(ApiError):
    """The requested object does not exist, or it belongs to another account."""


class Conflict(ApiError):
    """The request contradicts the current state."""


class RateLimited(ApiError):
    """Too many requests."""


class UpstreamAIError(ApiError):
    """The model provider failed; `details` has stage, chapter_number and retryable."""


class Unavailable(ApiError):
    """The service can't answer right now, or can't be reached (status 0)."""


BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    402: PlanUpgradeRequired,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
    502: UpstreamAIError,
    503: Unavailable,
}
# Codes that are more specific than their status.
CODES: dict[str, type[ApiError]] = {"GENERATION_IN_PROGRESS": GenerationInProgress, "QUOTA_EXCEEDED": QuotaExceeded}
# For responses without a code, from older servers or from proxies.
CODE_OF_STATUS = {
    400: "VALIDATION_ERROR",
    402: "PLAN_UPGRADE_REQUIRED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "CONFLICT",
    429: "RATE_LIMIT_EXCEEDED",
    503: "SERVICE_UNAVAILABLE",
}


def error_of(status: int, content: bytes, headers: Mapping[str, str]) -> ApiError:
    """Make the error for a response, from the API's `error` object, an older error body, or only the status."""
    if status < 400:
        return ApiError(status, "MOVED", f"The server redirects to {headers.get('Location')}. Use that address.")
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    known: dict[str, Any] = body if isinstance(body, dict) else {}
    envelope = known.get("error")
    after = headers.get("Retry-After", "")
    wait = float(after) if after.isdigit() else 0.0
    if isinstance(envelope, dict):
        code = str(envelope.get("code", "")).upper()
        message = str(envelope.get("message", code))
        return _class_of(status, code)(status, code, message, envelope.get("details"), wait)
    fields = {name: messages for name, messages in known.items() if isinstance(messages, list)}
    code = CODE_OF_STATUS.get(status, "SERVER_ERROR" if status >= 500 else "")
    message = str(envelope or known.get("detail") or f"HTTP status {status}")
    return _class_of(status, code)(status, code, message, fields, wait)


def _class_of(status: int, code: str) -> type[ApiError]:
    return CODES.get(code) or BY_STATUS.get(status, ApiError)
