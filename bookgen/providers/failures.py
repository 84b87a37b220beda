"""Turns the errors of model calls into CallFailed, which says whether to retry and what the operator can do."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import httpx2

from bookgen.providers.attempt import CallFailed, Cure, FailureKind
from bookgen.providers.headers import retry_after
from bookgen.providers.reading import ReplyTooLarge, SilentServer

CREDIT_SPENT = "says that this server has no credit left"
MAX_DETAIL_CHARACTERS = 500
MAX_SEARCHED_CHARACTERS = 20_000  # of an error, which may be megabytes long
_FILTERED = re.compile(
    r"content[_ ]filter|content_policy|moderation_blocked|content management policy|safety system|policy_violation|"
    r"bio_policy|prompt was flagged"
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|n_ctx|context the overflows|prompt is too long|"
    r"input (?:is )?too long|`inputs`|prompt contains \d+ tokens|maximum number of tokens allowed"
)
_REFUSED_BY_LENGTH = (None, 200, 400, 413, 422, 500, 501)  # statuses; some servers answer 500
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
_SENTENCES = ("error", "message", "detail", "title")  # fields with a message, or with an object that has one
# A <style> without an end tag extends to the end, which keeps the search linear: an error may be megabytes long.
_MARKUP = re.compile(r"<(style|script)\b.*?(?:</\1>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BUSY_EVENTS = ("rate_limit",)
_DENIED_EVENTS = ("invalid_request", "not_found")
# Events about the key or the credit, with the status that a response would have.
_LOCKED_EVENTS = {"authentication": 401, "permission": 403, "insufficient_quota": 402, "billing": 402}


class ProviderError(Exception):
    """An error that the provider reported.

    `status`: the status of the response; None if a stream reported the error after status 200. `body`: the error as
    parsed JSON, or as text.
    """

    def __init__(
        self, message: str, body: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.body, self.status = body, status
        self.headers: Mapping[str, str] = headers or {}
        self.code = body.get("code") if isinstance(body, dict) else None


def failure_of(error: Exception) -> CallFailed:
    """Convert any error of a model call to a CallFailed."""
    if isinstance(error, CallFailed):
        return error
    if isinstance(error, ProviderError):
        return _of_event(error) if error.status is None else _of_status(error.status, error)
    cause = _cause(error)
    detail = str(cause) or type(cause).__name__
    if isinstance(cause, SilentServer | aiohttp.ServerTimeoutError):
        return CallFailed(
            "did not answer within the time limit (BOOKGEN_MODEL_TIMEOUT)", FailureKind.AWAY, detail=detail, bound=True
        )
    if isinstance(error, TimeoutError):
        return CallFailed(
            "took longer than the time limit (BOOKGEN_MODEL_TIMEOUT)",
            FailureKind.GARBLED,
            detail=detail,
            bound=True,
        )
    if isinstance(cause, ReplyTooLarge):
        return CallFailed("sent far more than was requested", FailureKind.GARBLED, detail=detail)
    if isinstance(cause, aiohttp.ClientConnectorError):
        detail = f"{cause.host}:{cause.port}: {_why(cause.os_error)}"
        return CallFailed("could not be reached", FailureKind.AWAY, detail=detail, cure=Cure.START)
    if isinstance(cause, aiohttp.ClientError | httpx2.HTTPError | httpx2.StreamError | OSError):
        return CallFailed(
            "could not be reached or lost the connection", FailureKind.AWAY, detail=detail, cure=Cure.WAIT
        )
    return no_answer(detail)


def _cause(error: Exception) -> BaseException:
    """Return aiohttp's error from the chain of causes or, if there is none, the root cause.

    The SDKs wrap httpx2's error, which wraps aiohttp's error. Only aiohttp's error shows whether the connection was
    lost or a timeout has passed.
    """
    chain = list(_chain(error))
    return next((each for each in chain if isinstance(each, aiohttp.ClientError)), chain[-1])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _why(error: OSError) -> str:
    """Return why a connection failed, based on the error number.

    The message of asyncio has the address but no reason.
    """
    if error.errno is None or error.errno <= 0 or isinstance(error, ssl.SSLError):
        return error.strerror or str(error)
    return os.strerror(error.errno)


def no_answer(detail: str) -> CallFailed:
    """Return the failure for a response that does not come from a model API. The path of the URL may be wrong."""
    return CallFailed(
        "sent a response that is not a model's answer", FailureKind.GARBLED, detail=detail, cure=Cure.PATH
    )


def filtered(error: Exception) -> bool:
    """Whether the error means that a content filter refused the request.

    Some servers send no error in this case: the stop reason of the reply says that it was filtered.
    """
    return (
        isinstance(error, ProviderError)
        and error.status in (None, 200, 400, 403)
        and bool(_FILTERED.search(said(error)))
    )


def too_long(error: Exception) -> bool:
    """Whether the error means that the prompt and the reply together do not fit the model's context window."""
    return (
        isinstance(error, ProviderError) and error.status in _REFUSED_BY_LENGTH and bool(_TOO_LONG.search(said(error)))
    )


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of a provider's error; None for any other error."""
    return error.status if isinstance(error, ProviderError) else None


def said(error: Exception) -> str:
    """Return the error's message, code and body as one lower-case text to search in. A very long text is cut off."""
    text = f"{error} {error.code} {error.body}" if isinstance(error, ProviderError) else str(error)
    return text[:MAX_SEARCHED_CHARACTERS].lower()


def sentence(body: Any) -> str:
    """Return the message in the body of an error response, as one line. If the body is a web page, return its text."""
    while isinstance(body, dict):
        body = next((body[name] for name in _SENTENCES if body.get(name)), "")
    return " ".join(_MARKUP.sub(" ", _UNPRINTABLE.sub(" ", str(body))).split())[:MAX_DETAIL_CHARACTERS]


def _detail_of(error: ProviderError) -> str:
    return sentence(error.body or error)


def output_limit(error: Exception) -> int | None:
    """Return the model's limit of output tokens according to the error; None if the error does not state it."""
    found = _OUTPUT_LIMIT.search(said(error)) if status_of(error) in (400, 422) else None
    return int(next(filter(None, found.groups()))) if found else None


def _of_status(status: int, error: ProviderError) -> CallFailed:
    wait, detail = retry_after(error.headers), _detail_of(error)
    if status == 429 and not _SPENT.search(said(error)):
        return CallFailed("is busy", FailureKind.BUSY, retry_after=wait, detail=detail, cure=Cure.WAIT)
    if status in (408, 409) or status >= 500:
        return CallFailed(f"answered {status}", FailureKind.AWAY, retry_after=wait, detail=detail, cure=Cure.WAIT)
    return _denied(status, error, detail)


def _denied(status: int, error: ProviderError, detail: str) -> CallFailed:
    message, cure = _denial(status, error)
    locked_out = status in (401, 402, 403) or cure is Cure.CREDIT
    return CallFailed(message, FailureKind.LOCKED_OUT if locked_out else FailureKind.DENIED, detail=detail, cure=cure)


def _denial(status: int, error: ProviderError) -> tuple[str, Cure | None]:
    """Return the message for a request that the provider denies, and what the operator can do (None if unknown)."""
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


def _of_event(error: ProviderError) -> CallFailed:
    """Convert an error that was reported in a stream.

    The HTTP status of such a response was 200, so the body tells what kind of error it is.
    """
    body, detail = error.body, _detail_of(error)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    kind = f"{inner.get('type', '')} {inner.get('code', '')}" if isinstance(inner, dict) else ""
    if any(word in kind for word in _BUSY_EVENTS):
        return CallFailed("is busy", FailureKind.BUSY, detail=detail)
    if status := next((status for word, status in _LOCKED_EVENTS.items() if word in kind), None):
        return _denied(status, error, detail)
    if any(word in kind for word in _DENIED_EVENTS):
        return CallFailed("refused the request", FailureKind.DENIED, detail=detail)
    return CallFailed("failed in mid-answer", FailureKind.AWAY, detail=detail, cure=Cure.WAIT)
