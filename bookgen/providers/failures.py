"""What an SDK's error means for the next try.

Both SDKs are made by the same generator and name things alike, so one reading serves both without importing either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.transport import ReplyTooLarge

MOST_DETAIL = 500
_FILTERED = re.compile(
    r"content[_ ]filter|content_policy|moderation_blocked|content management policy|safety system|policy_violation|"
    r"bio_policy|prompt was flagged"
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|n_ctx|context the overflows|prompt is too long|"
    r"input (?:is )?too long|`inputs`|prompt contains \d+ tokens|maximum number of tokens allowed"
)
_REFUSED_BY_LENGTH = (None, 200, 400, 413, 422, 500, 501)  # statuses; some servers know no better than 500
_UNKNOWN_MODEL = re.compile(r"model[^.]{0,80}(?:not found|not exist|unknown|not_found)|unknown model|model_not_found")
_SPENT = re.compile(r"insufficient_quota|billing|credit balance")
_OUTPUT_LIMIT = re.compile(
    r"max_(?:completion_|output_)?tokens:? *\d+ > (\d+)|at most (\d+) (?:completion|output) tokens|"
    r"max_(?:completion_|output_)?tokens\D{1,60}(?:less than or equal to|at most|<=) *(\d+)|"
    r"range of max_tokens is \[1, (\d+)\]"
)
_BUSY_EVENTS = ("rate_limit",)
_DENIED_EVENTS = ("invalid_request", "authentication", "permission", "not_found", "insufficient_quota")


def failure_of(error: Exception) -> CallFailed:
    """Any error of a call as a CallFailed."""
    if isinstance(error, CallFailed):
        return error
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return _of_status(status, error)
    detail = f"{type(error).__name__}: {error}"[:MOST_DETAIL]
    if isinstance(error, TimeoutError):
        return CallFailed(
            "took longer than it may; BOOKGEN_MODEL_TIMEOUT bounds a call",
            FailureKind.GARBLED,
            detail=detail,
            bound=True,
        )
    cause = error.__cause__ or error
    if isinstance(cause, ReplyTooLarge):
        return CallFailed("sent far more than was asked", FailureKind.GARBLED, detail=detail)
    if isinstance(cause, httpx2.TimeoutException):
        return CallFailed(
            "did not answer in time; BOOKGEN_MODEL_TIMEOUT bounds a call", FailureKind.AWAY, detail=detail, bound=True
        )
    if isinstance(cause, httpx2.HTTPError | httpx2.StreamError | OSError):
        return CallFailed("could not be reached or broke off", FailureKind.AWAY, detail=detail)
    if _said_by_provider(error):
        return _of_event(error, detail)
    return CallFailed("sent something that is not a model's answer", FailureKind.GARBLED, detail=detail)


def filtered(error: Exception) -> bool:
    """A provider's content filter answered with an error instead of a stop reason, at once or in mid-stream."""
    status = getattr(error, "status_code", 200 if _said_by_provider(error) else None)
    return status in (200, 400, 403) and bool(_FILTERED.search(said(error)))


def too_long(error: Exception) -> bool:
    """The prompt, with the room for its reply, does not fit the model's window."""
    status = getattr(error, "status_code", None)
    return _said_by_provider(error) and status in _REFUSED_BY_LENGTH and bool(_TOO_LONG.search(said(error)))


def said(error: Exception) -> str:
    """What the provider said of the error, in one string."""
    return f"{error} {getattr(error, 'code', '')} {getattr(error, 'body', '')}".lower()


def output_limit(error: Exception) -> int | None:
    """The most tokens that a model writes, where an error says it."""
    found = _OUTPUT_LIMIT.search(said(error)) if getattr(error, "status_code", None) in (400, 422) else None
    return int(next(filter(None, found.groups()))) if found else None


def _of_status(status: int, error: Exception) -> CallFailed:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    wait, detail = retry_after(headers), said(error)[:MOST_DETAIL]
    if status == 429 and not _SPENT.search(said(error)):
        return CallFailed("is busy", FailureKind.BUSY, retry_after=wait, detail=detail)
    if status in (408, 409) or status >= 500:
        return CallFailed(f"answered {status}", FailureKind.AWAY, retry_after=wait, detail=detail)
    return CallFailed(_denial(status, error), FailureKind.DENIED, detail=detail)


def _denial(status: int, error: Exception) -> str:
    """Why the same call will never succeed, for the one who can change it."""
    words = said(error)
    if status == 402 or _SPENT.search(words):
        return "says that this server's credit with it is spent"
    if status in (401, 403):
        return "does not accept this server's key"
    if _UNKNOWN_MODEL.search(words):
        return "does not know this model"
    if status == 413:
        return "takes no prompt of this length"
    return f"answered {status}"


def _said_by_provider(error: Exception) -> bool:
    return hasattr(error, "body") and hasattr(error, "request")


def _of_event(error: Exception, detail: str) -> CallFailed:
    """An error in mid-stream: the status was 200, so its kind is in the body."""
    body: Any = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    kind = f"{inner.get('type', '')} {inner.get('code', '')}" if isinstance(inner, dict) else ""
    if any(word in kind for word in _BUSY_EVENTS):
        return CallFailed("is busy", FailureKind.BUSY, detail=detail)
    if any(word in kind for word in _DENIED_EVENTS):
        return CallFailed("refused the request", FailureKind.DENIED, detail=detail)
    return CallFailed("failed in mid-answer", FailureKind.AWAY, detail=detail)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    exact, usual = _number(headers.get("retry-after-ms", "")), headers.get("retry-after", "")
    if exact is not None:
        return exact / 1000
    seconds = _number(usual)
    return _seconds_until(usual) if seconds is None else seconds


def _number(text: str) -> float | None:
    """What is not negative; None for what is no number, or none that can be waited for."""
    try:
        number = float(text)
    except ValueError:
        return None
    return max(number, 0.0) if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
