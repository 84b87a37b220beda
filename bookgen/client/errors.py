"""What the client raises: a class for each code that a caller may act on, read from whatever shape a refusal has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """The service refused or failed. `code` is the contract's, `details` its extra facts."""

    def __init__(
        self, status: int, code: str, message: str, details: Mapping[str, Any] | None = None, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details or {}
        self.retry_after = retry_after


def reasons(details: Mapping[str, Any]) -> list[str]:
    """What a validation error's details say, field by field."""
    return [f"{field}: {' '.join(map(str, told))}" for field, told in details.items() if isinstance(told, list)]


class InvalidRequest(ApiError):
    """`details` maps each wrong field to its messages."""


class GenerationInProgress(ApiError):
    """A run is already active on the book."""


class Unauthenticated(ApiError):
    """No token, a bad one, or wrong credentials."""


class PermissionDenied(ApiError):
    """Not for this account, or the account is blocked."""


class PlanUpgradeRequired(ApiError):
    """The action is not in the plan."""


class QuotaExceeded(ApiError):
    """An allowance is spent. Waiting does not help before the period ends."""


class NotFound(ApiError):
    """No such thing, or another account's."""


class Conflict(ApiError):
    """The request contradicts the present state."""


class RateLimited(ApiError):
    """Too many requests."""


class UpstreamAIError(ApiError):
    """The model provider failed; `details` has stage, chapter_number and retryable."""


class Unavailable(ApiError):
    """The service can't answer right now, or can't be reached (status 0)."""


CODES: dict[str, type[ApiError]] = {
    "VALIDATION_ERROR": InvalidRequest,
    "GENERATION_IN_PROGRESS": GenerationInProgress,
    "AUTHENTICATION_REQUIRED": Unauthenticated,
    "TOKEN_EXPIRED": Unauthenticated,
    "TOKEN_INVALID": Unauthenticated,
    "TOKEN_NOT_VALID": Unauthenticated,
    "INVALID_CREDENTIALS": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "PLAN_UPGRADE_REQUIRED": PlanUpgradeRequired,
    "QUOTA_EXCEEDED": QuotaExceeded,
    "NOT_FOUND": NotFound,
    "CONFLICT": Conflict,
    "PAYMENTS_NOT_CONFIGURED": Conflict,
    "RATE_LIMIT_EXCEEDED": RateLimited,
    "RATE_LIMITED": RateLimited,
    "UPSTREAM_AI_ERROR": UpstreamAIError,
    "SERVICE_UNAVAILABLE": Unavailable,
}
# For answers without a code: older ones, and those of something between here and the service.
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
    """Reads the envelope; older and framework answers have other shapes, and the status decides."""
    if status < 400:
        return ApiError(status, "MOVED", f"The server sends us on to {headers.get('Location')}: use that address.")
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
        return CODES.get(code, ApiError)(status, code, message, envelope.get("details"), wait)
    fields = {name: messages for name, messages in known.items() if isinstance(messages, list)}
    code = CODE_OF_STATUS.get(status, "SERVER_ERROR" if status >= 500 else "")
    kind = Unauthenticated if status == 401 else CODES.get(code, ApiError)
    return kind(status, code, str(envelope or known.get("detail") or f"HTTP status {status}"), fields, wait)
