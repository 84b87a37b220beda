"""What an SDK's error means for the next try.

Both SDKs are made by the same generator and name things alike, so one reading serves both without importing either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from bookgen.providers.attempt import CallFailed, Cure, FailureKind
from bookgen.providers.headers import retry_after
from bookgen.providers.transport import ReplyTooLarge

CREDIT_SPENT = "says that this server's credit with it is spent"
MAX_DETAIL_CHARACTERS = 500
MAX_SEARCHED_CHARACTERS = 20_000  # of an error; one with megabytes says no more than its first page
_FILTERED = re.compile(
    r"content[_ ]filter|content_policy|moderation_blocked|content management policy|safety system|policy_violation|"
    r"bio_policy|prompt was flagged"
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|n_ctx|context the overflows|prompt is too long|"
    r"input (?:is )?too long|`inputs`|prompt contains \d+ tokens|maximum number of tokens allowed"
)
_REFUSED_BY_LENGTH = (None, 200, 400, 413, 422, 500, 501)  # statuses; some servers know no better than 500
_UNKNOWN_MODEL = re.compile(
    r"model\b.{0,120}?(?:not found|not exist|unknown|not_found)|unknown model|model_not_found|not a valid model|"
    r"invalid model"
)
_ABOUT_THE_KEY = re.compile(r"key|auth|credential|token|permission")
_NO_ROUTE = re.compile(r"<html|not found|not allowed|endpoint or method|cannot post|code: 40[45] none\s*$")
_SPENT = re.compile(r"insufficient_quota|billing|credit balance")
_OUTPUT_LIMIT = re.compile(
    r"max_(?:completion_|output_)?tokens:? *\d+ > (\d+)|at most (\d+) (?:completion|output) tokens|"
    r"max_(?:completion_|output_)?tokens\D{1,60}(?:less than or equal to|at most|<=) *(\d+)|"
    r"range of max_tokens is \[1, (\d+)\]"
)
_SENTENCES = ("error", "message", "detail", "title")  # fields that hold one, or an object that does
# What has no end goes on to that of the text, so that nothing is read twice: an error may be megabytes of them.
_MARKUP = re.compile(r"<(style|script)\b.*?(?:</\1>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BUSY_EVENTS = ("rate_limit",)
_DENIED_EVENTS = ("invalid_request", "not_found")
# What an event says of the key or of the credit, as the status that it would have.
_LOCKED_EVENTS = {"authentication": 401, "permission": 403, "insufficient_quota": 402, "billing": 402}


def failure_of(error: Exception) -> CallFailed:
    """Any error of a call as a CallFailed."""
    if isinstance(error, CallFailed):
        return error
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return _of_status(status, error)
    cause = error.__cause__ or error
    detail = _told(error) if _said_by_provider(error) and cause is error else str(cause) or type(cause).__name__
    if isinstance(error, TimeoutError):
        return CallFailed(
            "took longer than it may; BOOKGEN_MODEL_TIMEOUT bounds a call",
            FailureKind.GARBLED,
            detail=detail,
            bound=True,
        )
    if isinstance(cause, ReplyTooLarge):
        return CallFailed("sent far more than was asked", FailureKind.GARBLED, detail=detail)
    if isinstance(cause, httpx2.TimeoutException):
        return CallFailed(
            "did not answer in time; BOOKGEN_MODEL_TIMEOUT bounds a call", FailureKind.AWAY, detail=detail, bound=True
        )
    if isinstance(cause, httpx2.HTTPError | httpx2.StreamError | OSError):
        cure = Cure.START if isinstance(cause, httpx2.ConnectError) else Cure.WAIT
        return CallFailed("could not be reached or broke off", FailureKind.AWAY, detail=detail, cure=cure)
    if _said_by_provider(error):
        return _of_event(error, detail)
    return no_answer(detail)


def no_answer(detail: str) -> CallFailed:
    """Whoever was asked is no model, or none at this path."""
    return CallFailed(
        "sent a response that is not a model's answer", FailureKind.GARBLED, detail=detail, cure=Cure.PATH
    )


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
    return f"{error} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"[:MAX_SEARCHED_CHARACTERS].lower()


def sentence(told: Any) -> str:
    """What a provider told of an error, in its own words and in one line; of a page, its text."""
    while isinstance(told, dict):
        told = next((told[name] for name in _SENTENCES if told.get(name)), "")
    return " ".join(_MARKUP.sub(" ", _UNPRINTABLE.sub(" ", str(told))).split())[:MAX_DETAIL_CHARACTERS]


def _told(error: Exception) -> str:
    return sentence(getattr(error, "body", None) or error)


def output_limit(error: Exception) -> int | None:
    """The most tokens that a model writes, where an error says it."""
    found = _OUTPUT_LIMIT.search(said(error)) if getattr(error, "status_code", None) in (400, 422) else None
    return int(next(filter(None, found.groups()))) if found else None


def _of_status(status: int, error: Exception) -> CallFailed:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    wait, detail = retry_after(headers), _told(error)
    if status == 429 and not _SPENT.search(said(error)):
        return CallFailed("is busy", FailureKind.BUSY, retry_after=wait, detail=detail, cure=Cure.WAIT)
    if status in (408, 409) or status >= 500:
        return CallFailed(f"answered {status}", FailureKind.AWAY, retry_after=wait, detail=detail, cure=Cure.WAIT)
    return _denied(status, error, detail)


def _denied(status: int, error: Exception, detail: str) -> CallFailed:
    message, cure = _denial(status, error)
    locked_out = status in (401, 402, 403) or cure is Cure.CREDIT
    return CallFailed(message, FailureKind.LOCKED_OUT if locked_out else FailureKind.DENIED, detail=detail, cure=cure)


def _denial(status: int, error: Exception) -> tuple[str, Cure | None]:
    """Why the same call fails again, and what the operator can do about it."""
    words = said(error)
    if status == 402 or _SPENT.search(words):
        return CREDIT_SPENT, Cure.CREDIT
    if status == 401 or (status == 403 and _ABOUT_THE_KEY.search(words)):
        return "does not accept this server's key", Cure.KEY
    if status == 403:
        return "does not allow this request", None
    if _UNKNOWN_MODEL.search(words):
        return "does not know this model", Cure.MODEL
    if status == 413:
        return "cannot accept a prompt this long", Cure.ANOTHER_MODEL
    return f"answered {status}", Cure.PATH if status in (404, 405) and _NO_ROUTE.search(words) else None


def _said_by_provider(error: Exception) -> bool:
    return hasattr(error, "body") and hasattr(error, "request")


def _of_event(error: Exception, detail: str) -> CallFailed:
    """An error in mid-stream: the status was 200, so its kind is in the body."""
    body: Any = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    kind = f"{inner.get('type', '')} {inner.get('code', '')}" if isinstance(inner, dict) else ""
    if any(word in kind for word in _BUSY_EVENTS):
        return CallFailed("is busy", FailureKind.BUSY, detail=detail)
    if status := next((status for word, status in _LOCKED_EVENTS.items() if word in kind), None):
        return _denied(status, error, detail)
    if any(word in kind for word in _DENIED_EVENTS):
        return CallFailed("refused the request", FailureKind.DENIED, detail=detail)
    return CallFailed("failed in mid-answer", FailureKind.AWAY, detail=detail, cure=Cure.WAIT)
