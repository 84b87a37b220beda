"""The errors that the API sends, and the errors that prevent a start. Their base class is in `error_base.py`.

The default message of an error is the docstring of its class. A class without its own `ErrorCode` has that of its
parent.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from bookgen.error_base import BookgenError as BookgenError
from bookgen.error_base import ErrorCode as ErrorCode

T = TypeVar("T")

_UPGRADE = "https://books.example.org/api/v1/auth/subscriptions/plans/"
_SPENT: dict[str, Any] = {
    "limit": 1,
    "used": 1,
    "reserved": 0,
    "remaining": 0,
    "period_end": "2026-12-01T00:00:00Z",
    "upgrade_url": _UPGRADE,
}


class InvalidInput(BookgenError):
    """The request is not valid."""

    wire = ErrorCode(
        400,
        "VALIDATION_ERROR",
        "A field is missing, has the wrong type or an invalid value, or the body is not a JSON object.",
        "Correct the fields named in `details`; each holds a list of messages. Do not send the same request again.",
        {"title": ["This field is required."]},
    )

    def __init__(self, message: str | None = None, /, **details: object) -> None:
        super().__init__(message or _summary(details), **details)


def _summary(details: dict[str, object]) -> str:
    """The messages about the first three invalid fields, for clients that do not read `details`."""
    found = [(name, messages[0]) for name, messages in details.items() if isinstance(messages, list) and messages]
    return " ".join(str(text) if name == "non_field_errors" else f"{name}: {text}" for name, text in found[:3])


def foreign_chapters(ids: Iterable[int]) -> InvalidInput:
    """The error for `chapter_ids` that belong to another book or do not exist."""
    named = ", ".join(map(str, sorted(ids)))
    return InvalidInput(
        chapter_ids=[f"These chapter ids do not belong to this book: {named}. Read its chapters (GET /books/{{id}}/)."]
    )


class NoOutline(InvalidInput):
    """This book has no outline. Create one first (POST /books/{id}/generate-outline/ or update-outline/)."""


class NotFound(BookgenError):
    """This does not exist, or it is not yours."""

    wire = ErrorCode(
        404,
        "NOT_FOUND",
        "The path or the object does not exist, or the object belongs to another account.",
        "Check the path and the id. The service hides other accounts' objects.",
    )


class NoSuchPath(NotFound):
    """No such path. GET /api/v1/docs/ lists all paths."""


class NeverGenerated(NotFound):
    """This book has never been generated. Start its writing first (POST /books/{id}/generate/)."""


def no_such(kind: str) -> NotFound:
    """The error for a missing object. `kind`: what it is, such as "book"."""
    return NotFound(f"No such {kind}, or it is not yours.")


def must_exist(found: T | None, kind: str = "object") -> T:
    """Return `found`, or raise NotFound if it is None. `kind`: what the error message calls the missing object."""
    if found is None:
        raise no_such(kind)
    return found


class Conflict(BookgenError):
    """The request contradicts the current state."""

    wire = ErrorCode(
        409,
        "CONFLICT",
        "The request contradicts the current state, such as pausing a run that has ended.",
        "Read the resource again, then decide what to do.",
    )


def busy_with(job: str) -> Conflict:
    """The error for a request while another request is making model calls for the same book.

    `job`: what the other request makes, such as "outline".
    """
    return Conflict(
        f"Another request is making this book's {job}. When that request has ended, read the book (GET /books/{{id}}/) "
        "and repeat your request."
    )


class IdempotencyKeyInUse(Conflict):
    """The first request with this Idempotency-Key is still being handled. Wait a moment, then send it again."""


class IdempotencyKeyReused(Conflict):
    """You have sent this Idempotency-Key with another request. Send a new key with a new request."""


class PaymentsNotConfigured(Conflict):
    """This server does not accept payments. Ask its operator to configure them."""

    wire = ErrorCode(
        409,
        "PAYMENTS_NOT_CONFIGURED",
        "This server has no payment keys, or billing is off, so it cannot accept payments.",
        "Stop. The operator must configure payments first.",
    )


class GenerationInProgress(BookgenError):
    """This book is being generated. Pause or stop the run first (pause-generation/ or stop-generation/)."""

    wire = ErrorCode(
        400,
        "GENERATION_IN_PROGRESS",
        "A generation run is active on this book.",
        "Read the status of the run (GET /books/{id}/generation-status/). If you have repeated a call that starts a "
        "run, `running` means that the first call worked. To edit the book, pause or stop the run.",
    )


class Unauthenticated(BookgenError):
    """The request is not authenticated."""

    wire = ErrorCode(
        401,
        "AUTHENTICATION_REQUIRED",
        "The Authorization header is missing, or its scheme is not exactly `Bearer`.",
        "Attach `Authorization: Bearer <ACCESS_TOKEN>` and retry once.",
    )


class AuthenticationRequired(Unauthenticated):
    """Send an access token in the header: Authorization: Bearer <ACCESS_TOKEN>."""


class TokenExpired(Unauthenticated):
    """The access token has expired. Get a new one (POST /auth/token/refresh/)."""

    wire = ErrorCode(
        401,
        "TOKEN_EXPIRED",
        "The access token is older than 24 hours.",
        "Refresh once at `/auth/token/refresh/`, store both new tokens and replay once.",
        {"token_type": "access"},
    )


class TokenInvalid(Unauthenticated):
    """The token is not valid. Log in again (POST /auth/login/)."""

    wire = ErrorCode(
        401,
        "TOKEN_INVALID",
        "The token is malformed, of the wrong type, wrongly signed, or an expired refresh token.",
        "Log in again. Refreshing will not help.",
    )


class InvalidCredentials(Unauthenticated):
    """The e-mail address, username or password is wrong."""

    wire = ErrorCode(
        401,
        "INVALID_CREDENTIALS",
        "The login or password is wrong, or the identity provider rejected the token.",
        "Stop. Do not retry with guesses.",
    )


class PermissionDenied(BookgenError):
    """You do not have permission to do this."""

    wire = ErrorCode(
        403,
        "PERMISSION_DENIED",
        "The endpoint is for staff, the account is blocked or not verified, or registration is not open to you.",
        "Stop. Another attempt will not help.",
    )


class PlanUpgradeRequired(BookgenError):
    """Your plan does not include this."""

    wire = ErrorCode(
        402,
        "PLAN_UPGRADE_REQUIRED",
        "The plan does not include this action: an export format, chapter images, an add-on (`details` has `addon`) "
        "or a book that is too long (in that case `details` has `requested` and `max_allowed`).",
        "Ask for what `details` allows, or change the plan at `upgrade_url`.",
        {"requested_format": "docx", "allowed_formats": ["pdf"], "upgrade_url": _UPGRADE},
    )


class QuotaExceeded(BookgenError):
    """You have used up the allowance of this billing period."""

    wire = ErrorCode(
        429,
        "QUOTA_EXCEEDED",
        "An allowance of the billing period is used up: images, AI edits, proofreading checks, or the words that AI "
        "edits write in books that have not been generated (`unpaid_words`).",
        "Wait until `period_end`, or upgrade the plan.",
        {"quota_type": "ai_edits", **_SPENT},
    )


class BookQuotaExceeded(QuotaExceeded):
    """Your plan has no books left this period, and none of your credits covers this book."""

    wire = ErrorCode(
        402,
        "quota_exceeded",
        "The plan has no books left this period, and no credit covers this book.",
        "Wait until `period_end`, upgrade to `upgrade.plan` (the next larger plan, or null), or buy credits. Books in "
        "progress are `reserved`: neither used nor remaining.",
        {
            "quota_type": "books",
            **_SPENT,
            "upgrade": {
                "url": _UPGRADE,
                "plan": "starter",
                "credits_url": "https://books.example.org/api/v1/auth/credits/packages/",
            },
        },
        constant="BOOK_QUOTA_EXCEEDED",
    )


class RateLimited(BookgenError):
    """Too many requests. Wait the number of seconds in Retry-After."""

    wire = ErrorCode(
        429,
        "RATE_LIMIT_EXCEEDED",
        "Too many requests from this account or address. `scope` names the limit.",
        "Wait the number of seconds in `Retry-After`, then retry.",
        {"limit": 60, "remaining": 0, "reset_seconds": 60, "retry_after": 1, "scope": "public"},
    )

    def __init__(self, message: str | None = None, /, *, retry_after: int, **details: object) -> None:
        super().__init__(message, retry_after=retry_after, **details)
        self.retry_after = retry_after


class MethodNotAllowed(BookgenError):
    """Method not allowed here."""

    wire = ErrorCode(
        405,
        "METHOD_NOT_ALLOWED",
        "The path exists, but not with this method.",
        "Use one of the methods in the `Allow` header.",
    )


class PayloadTooLarge(BookgenError):
    """The request body is too large. It may have up to 2 MiB."""

    wire = ErrorCode(
        413,
        "PAYLOAD_TOO_LARGE",
        "The request body is larger than 2 MiB.",
        "Send a smaller body.",
        {"limit_bytes": 2097152},
    )


class Unavailable(BookgenError):
    """The service is temporarily unavailable. Try again in a moment."""

    wire = ErrorCode(
        503,
        "SERVICE_UNAVAILABLE",
        "The database, the stored files or the payment processor cannot be reached, or the server is stopping.",
        "Wait the number of seconds in `Retry-After`, then retry.",
    )

    def __init__(self, message: str | None = None, /, *, retry_after: int = 5, **details: object) -> None:
        super().__init__(message, **details)
        self.retry_after = retry_after


class RenderingFailed(Unavailable):
    """The file could not be created. Try again in a moment."""


class RenderTimeout(RenderingFailed):
    """The export took too long and was canceled. Shorten the book's longest chapter, or try again."""


class ProofreadingFailed(Unavailable):
    """The book could not be proofread. Try again in a moment."""


class FilesUnavailable(Unavailable):
    """Stored files can't be reached right now. Try again in a moment.

    `reason` is for the operator: it may name folders and servers.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("Stored files can't be reached right now. Try again in a moment.")
        self.reason = reason


class CallerLeft(Unavailable):
    """The client disconnected before the response was ready."""


class UpstreamAIError(BookgenError):
    """The model provider failed.

    `stage`: the kind of call ("outline", "chapter", ...). `retryable`: whether the same call may succeed later.
    `chapter_number` counts from 1; None if the call was not about a chapter. `spent`: the usage of the failed calls,
    which the provider charges for.
    """

    wire = ErrorCode(
        502,
        "UPSTREAM_AI_ERROR",
        "The model provider failed, timed out or refused.",
        "If `retryable` is true, retry at most three times, after 2 s, 4 s and 8 s plus jitter.",
        {"stage": "outline", "chapter_number": None, "retryable": True},
    )

    def __init__(
        self,
        message: str | None = None,
        /,
        *,
        stage: str,
        retryable: bool,
        chapter_number: int | None = None,
        spent: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(
            message or "The model provider failed.", stage=stage, chapter_number=chapter_number, retryable=retryable
        )
        self.stage = stage
        self.retryable = retryable
        self.chapter_number = chapter_number
        self.spent = spent


class CostCapReached(UpstreamAIError):
    """The cost cap is reached."""


class StartupError(BookgenError):
    """The service cannot start."""


class NoDatabase(StartupError):
    """There is no database yet."""


def catalogue() -> list[ErrorCode]:
    """All error codes that the API sends, ordered by status."""
    classes = [each for each in globals().values() if isinstance(each, type) and issubclass(each, BookgenError)]
    codes = {each.wire.code: each.wire for each in classes if not issubclass(each, StartupError)}
    return sorted(codes.values(), key=lambda entry: (entry.status, entry.code))
