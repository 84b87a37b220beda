"""Accounts, and the e-mails that are sent to them (`Letter`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Account:
    id: int
    username: str
    email: str
    first_name: str
    last_name: str
    email_verified: bool
    avatar_url: str | None
    is_staff: bool
    is_superuser: bool
    blocked: bool
    created_at: datetime
    tokens_valid_from: datetime
    pending_email: str | None = None

    @property
    def author_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.username


class LinkPurpose(StrEnum):
    """The purpose of a one-time link sent by e-mail. The value is also the name of its page."""

    VERIFY_EMAIL = "verify-email"
    RESET_PASSWORD = "reset-password"
    MAGIC_LOGIN = "magic-login"
    UNDO_EMAIL = "undo-email"
    APPROVE_EMAIL = "approve-email"


class Notice(StrEnum):
    """The kind of an e-mail that has no one-time link."""

    RECEIPT = "receipt"
    PASSWORD_CHANGED = "password-changed"
    GOOGLE_LINKED = "google-linked"
    NEW_SIGN_IN = "new-sign-in"


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail. `message_id` is the same for all attempts to send it, so that a mailbox can drop duplicates."""

    recipient: str
    subject: str
    text: str
    html: str
    message_id: str
