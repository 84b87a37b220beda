"""Letters that wait to be sent, shared by every process on the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from bookgen.models import LinkPurpose
from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class DueMail:
    id: int
    purpose: LinkPurpose
    email: str
    attempts: int
    created_at: datetime


ENQUEUE = "INSERT INTO mail (purpose, email) VALUES ($1, $2)"


async def enqueue(db: DB, purpose: LinkPurpose, email: str) -> None:
    await db.execute(ENQUEUE, purpose, email)


# A claim is a lease: a process that dies with a letter in its hand leaves it to the others.
CLAIM = """
    UPDATE mail
       SET attempts = attempts + 1, due_at = now() + $2::interval
     WHERE id IN (SELECT id FROM mail WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING id, purpose, email, attempts, created_at
"""


async def claim(db: DB, limit: int, lease: timedelta) -> list[DueMail]:
    rows = await db.fetch(CLAIM, limit, lease)
    return [DueMail(**{**row, "purpose": LinkPurpose(row["purpose"])}) for row in rows]


DELETE = "DELETE FROM mail WHERE id = $1"


async def delete(db: DB, mail_id: int) -> None:
    await db.execute(DELETE, mail_id)


POSTPONE = "UPDATE mail SET due_at = now() + $2::interval, last_error = $3 WHERE id = $1"


async def postpone(db: DB, mail_id: int, delay: timedelta, error: str) -> None:
    await db.execute(POSTPONE, mail_id, delay, error)
