"""Every error code as callers should read it: when it comes, what to do, what its details look like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_UPGRADE = "https://books.example.org/api/v1/auth/subscriptions/plans/"
_SPENT: dict[str, Any] = {
    "limit": 1,
    "used": 1,
    "remaining": 0,
    "period_end": "2026-12-01T00:00:00Z",
    "upgrade_url": _UPGRADE,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One code. `remedy` is what a client should do; `details` an example, empty where there are none.

    `name` is that of the code as a constant: two codes that differ in their case alone have different ones.
    """

    code: str
    status: int
    condition: str
    remedy: str
    details: dict[str, Any] = field(default_factory=dict)
    constant: str | None = None

    @property
    def name(self) -> str:
        return self.constant or self.code


CATALOGUE = (
    Entry(
        "VALIDATION_ERROR", 400,
        "A field is missing, has the wrong type or an invalid value, or the body is not a JSON object.",
        "Correct the fields named in `details`; each holds a list of messages. Do not retry unchanged.",
        {"title": ["Missing data for required field."]},
    ),
    Entry(
        "GENERATION_IN_PROGRESS", 400,
        "A generation run is active on this book.",
        "Read its generation-status. `running` means that your first call worked. Pause or stop it to edit.",
    ),
    Entry(
        "AUTHENTICATION_REQUIRED", 401,
        "The Authorization header is missing, or its scheme is not exactly `Bearer`.",
        "Attach `Authorization: Bearer <ACCESS_TOKEN>` and retry once.",
    ),
    Entry(
        "INVALID_CREDENTIALS", 401,
        "The login or password is wrong, or the identity provider rejected the token.",
        "Stop. Do not retry with guesses.",
    ),
    Entry(
        "TOKEN_EXPIRED", 401,
        "The access token is older than 24 hours.",
        "Refresh once at `/auth/token/refresh/`, store both new tokens and replay once.",
        {"token_type": "access"},
    ),
    Entry(
        "TOKEN_INVALID", 401,
        "The token is malformed, of the wrong type, wrongly signed, or an expired refresh token.",
        "Log in again. Refreshing will not help.",
    ),
    Entry(
        "PLAN_UPGRADE_REQUIRED", 402,
        "The plan does not include this action: an export format, chapter images, an add-on (`details` has `addon`) "
        "or a book that is too long (in that case `details` has `requested` and `max_allowed`).",
        "Ask for what `details` allows, or change the plan at `upgrade_url`.",
        {"requested_format": "docx", "allowed_formats": ["pdf"], "upgrade_url": _UPGRADE},
    ),
    Entry(
        "quota_exceeded", 402,
        "The plan has no books left this period, and no credit covers this book.",
        "Wait until `period_end`, upgrade the plan, or buy credits.",
        {
            "quota_type": "books",
            **_SPENT,
            "upgrade": {
                "url": _UPGRADE,
                "plan": "free",
                "credits_url": "https://books.example.org/api/v1/auth/credits/packages/",
            },
        },
        constant="BOOK_QUOTA_EXCEEDED",
    ),
    Entry(
        "PERMISSION_DENIED", 403,
        "The endpoint is for staff, the account is blocked or not verified, or registration is not open to you.",
        "Stop. Another attempt will not help.",
    ),
    Entry(
        "NOT_FOUND", 404,
        "The path or the object does not exist, or the object belongs to another account.",
        "Check the path and the id. The service hides other accounts' objects.",
    ),
    Entry(
        "METHOD_NOT_ALLOWED", 405,
        "The path exists, but not with this method.",
        "Use one of the methods in the `Allow` header.",
    ),
    Entry(
        "CONFLICT", 409,
        "The request contradicts the current state, such as pausing a run that has ended.",
        "Read the resource again, then decide what to do.",
    ),
    Entry(
        "PAYMENTS_NOT_CONFIGURED", 409,
        "This server has no payment keys, or billing is off, so it cannot accept payments.",
        "Stop. The operator must configure payments first.",
    ),
    Entry(
        "PAYLOAD_TOO_LARGE", 413,
        "The request body is larger than 2 MiB.",
        "Send a smaller body.",
        {"limit_bytes": 2097152},
    ),
    Entry(
        "QUOTA_EXCEEDED", 429,
        "An allowance of the billing period is used up: images, AI edits, proofreading checks, or the words that AI "
        "edits write in unpaid books (`unpaid_words`).",
        "Wait until `period_end`, or upgrade the plan.",
        {"quota_type": "ai_edits", **_SPENT},
    ),
    Entry(
        "RATE_LIMIT_EXCEEDED", 429,
        "Too many requests of this class from this account or address.",
        "Wait the number of seconds in `Retry-After`, then retry.",
        {"limit": 60, "remaining": 0, "reset_seconds": 60, "scope": "public"},
    ),
    Entry(
        "UPSTREAM_AI_ERROR", 502,
        "The model provider failed, timed out or refused.",
        "If `retryable` is true, retry at most three times, after 2 s, 4 s and 8 s plus jitter.",
        {"stage": "outline", "chapter_number": None, "retryable": True},
    ),
    Entry(
        "SERVICE_UNAVAILABLE", 503,
        "The database or the payment processor is not reachable, or the server is stopping.",
        "Wait the number of seconds in `Retry-After`, then retry.",
    ),
    Entry(
        "SERVER_ERROR", 500,
        "An unexpected error occurred.",
        "Retry at most three times, after 2 s, 4 s and 8 s plus jitter. Then report the `request_id`.",
        {"request_id": "3f1c0a9be2d44f60"},
    ),
)  # fmt: skip

BY_CODE = {entry.code: entry for entry in CATALOGUE}
