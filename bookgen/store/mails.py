"""The queue of outgoing e-mails, shared by all processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bookgen.models import LinkPurpose, Notice
from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class DueMail:
    """An e-mail that has to be sent now. `account_id`: the account that the link in the e-mail is for.

    If `account_id` is None, the link is for the account that has the address `email` at the time of sending, if there
    is such an account.
    """

    id: int
    purpose: LinkPurpose | Notice
    email: str
    account_id: int | None
    details: Mapping[str, Any]
    attempts: int
    created_at: datetime


ENQUEUE = "INSERT INTO mail (purpose, email, account_id, details) VALUES ($1, $2, $3, $4)"


async def enqueue(
    db: DB, purpose: LinkPurpose | Notice, email: str, account_id: int | None = None, **details: str
) -> None:
    """Queue an e-mail, which is sent once the caller's transaction commits. `details`: values for the e-mail's text."""
    await db.execute(ENQUEUE, purpose, email, account_id, details)


# A claim is a lease: if the process dies while sending, another process takes the e-mail over.
CLAIM = """
    UPDATE mail
       SET attempts = attempts + 1, due_at = now() + $2::interval
     WHERE id IN (SELECT id FROM mail WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING id, purpose, email, account_id, details, attempts, created_at
"""


async def claim(db: DB, limit: int, lease: timedelta) -> list[DueMail]:
    """Claim up to `limit` due e-mails. If one is not sent within `lease`, it can be claimed again."""
    rows = await db.fetch(CLAIM, limit, lease)
    return [DueMail(**{**row, "purpose": _purpose(row["purpose"])}) for row in rows]


def _purpose(name: str) -> LinkPurpose | Notice:
    return Notice(name) if name in set(Notice) else LinkPurpose(name)


DELETE = "DELETE FROM mail WHERE id = $1"


async def delete(db: DB, mail_id: int) -> None:
    await db.execute(DELETE, mail_id)


POSTPONE = "UPDATE mail SET due_at = now() + $2::interval, last_error = $3 WHERE id = $1"


async def postpone(db: DB, mail_id: int, delay: timedelta, error: str) -> None:
    await db.execute(POSTPONE, mail_id, delay, error)
