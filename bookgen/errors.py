"""Every error of the domain. A class and a sentence; its place on the wire is `http/edge/errors.py`.

BookgenError
├── InvalidInput                 a value that the caller sent is not acceptable
│   └── NoOutline                generate without an outline
├── NotFound                     absent, or another account's
├── Conflict                     contradicts the current state
│   └── PaymentsNotConfigured    a checkout on a server without payment keys, or with billing off
├── GenerationInProgress
├── Unauthenticated
│   ├── AuthenticationRequired   no bearer token
│   ├── TokenExpired
│   ├── TokenInvalid
│   └── InvalidCredentials
├── PermissionDenied
├── PlanUpgradeRequired          the action is not in the plan
├── QuotaExceeded                an allowance is spent
│   └── BookQuotaExceeded        … when a book is created or its writing starts
├── RateLimited
├── MethodNotAllowed             the path exists, but not with this verb
├── PayloadTooLarge
├── Unavailable                  database or payment processor not reachable; try again
│   ├── RenderingFailed          a file or a picture could not be made now
│   │   └── RenderTimeout        … took longer than it may, or more memory
│   ├── ProofreadingFailed       a book could not be read by the proofreader's rules now
│   └── CallerLeft               nobody hears the answer
├── UpstreamAIError              the model provider failed, timed out or refused
│   └── CostCapReached           … is not asked: what may be spent on it is spent
└── StartupError                 a setting or the environment does not let the service start
"""

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class BookgenError(Exception):
    """Something went wrong."""

    def __init__(self, message: str | None = None, /, **details: object) -> None:
        super().__init__(message or type(self).__doc__)
        self.details = details


class InvalidInput(BookgenError):
    """The request is not valid."""

    def __init__(self, message: str | None = None, /, **details: object) -> None:
        super().__init__(message or _told(details), **details)


def _told(details: dict[str, object]) -> str:
    """What is wrong with the first fields, for who reads no details."""
    found = [(name, messages[0]) for name, messages in details.items() if isinstance(messages, list) and messages]
    return " ".join(str(said) if name == "non_field_errors" else f"{name}: {said}" for name, said in found[:3])


def foreign_chapters(ids: Iterable[int]) -> InvalidInput:
    """The refusal of `chapter_ids` that belong to another book or do not exist."""
    named = ", ".join(map(str, sorted(ids)))
    return InvalidInput(chapter_ids=[f"These chapter ids do not belong to this book: {named}."])


class NoOutline(InvalidInput):
    """This book has no outline. Create one first (POST /books/{id}/generate-outline/ or update-outline/)."""


class NotFound(BookgenError):
    """Not found."""


def must_exist(found: T | None) -> T:
    """What was looked for. NotFound when there is nothing."""
    if found is None:
        raise NotFound
    return found


class Conflict(BookgenError):
    """The request contradicts the current state."""


class PaymentsNotConfigured(Conflict):
    """This server does not accept payments. Ask its operator to configure them."""


class GenerationInProgress(BookgenError):
    """This book is being generated. Pause or stop the run first (pause-generation/ or stop-generation/)."""


class Unauthenticated(BookgenError):
    """The request is not authenticated."""


class AuthenticationRequired(Unauthenticated):
    """Send an access token in the header: Authorization: Bearer <ACCESS_TOKEN>."""


class TokenExpired(Unauthenticated):
    """The access token has expired. Get a new one (POST /auth/token/refresh/)."""


class TokenInvalid(Unauthenticated):
    """The token is not valid. Log in again (POST /auth/login/)."""


class InvalidCredentials(Unauthenticated):
    """The e-mail address, username or password is wrong."""


class PermissionDenied(BookgenError):
    """You do not have permission to do this."""


class PlanUpgradeRequired(BookgenError):
    """Your plan does not include this."""


class QuotaExceeded(BookgenError):
    """You have used up the allowance of this billing period."""


class BookQuotaExceeded(QuotaExceeded):
    """Your plan has no books left this period, and none of your credits covers this book."""


class RateLimited(BookgenError):
    """Too many requests. Wait the number of seconds in Retry-After."""

    def __init__(self, message: str | None = None, /, *, retry_after: int, **details: object) -> None:
        super().__init__(message, **details)
        self.retry_after = retry_after


class MethodNotAllowed(BookgenError):
    """Method not allowed here."""


class PayloadTooLarge(BookgenError):
    """The request body is too large."""


class Unavailable(BookgenError):
    """The service is temporarily unavailable. Try again in a moment."""

    def __init__(self, message: str | None = None, /, *, retry_after: int = 5, **details: object) -> None:
        super().__init__(message, **details)
        self.retry_after = retry_after


class RenderingFailed(Unavailable):
    """The file could not be created. Try again in a moment."""


class RenderTimeout(RenderingFailed):
    """The export took too long and was canceled."""


class ProofreadingFailed(Unavailable):
    """The book could not be proofread. Try again in a moment."""


class CallerLeft(Unavailable):
    """The client disconnected before the response was ready."""


class UpstreamAIError(BookgenError):
    """The model provider failed.

    `stage` names the call ("outline", "chapter", ...), `retryable` says whether the same call may
    succeed later, `chapter_number` counts from 1 and is None outside a chapter. `spent`: what each of the
    calls that broke has used, which the provider charges all the same.
    """

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
