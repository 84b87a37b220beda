"""Accounts: who may sign in, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from asyncpg import Connection, Record, UniqueViolationError

from bookgen.errors import InvalidInput, NotFound
from bookgen.models import Account
from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class NewAccount:
    username: str
    email: str
    password_hash: str | None = None
    first_name: str = ""
    last_name: str = ""
    email_verified: bool = False
    avatar_url: str | None = None
    google_subject: str | None = None
    is_staff: bool = False
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    account: Account
    password_hash: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What every call is checked against."""

    is_staff: bool
    blocked: bool


CREATE = """
    INSERT INTO account (username, email, password_hash, first_name, last_name, email_verified, avatar_url,
                         google_subject, is_staff, fingerprint)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    RETURNING *
"""


async def create(db: DB, new: NewAccount) -> Account:
    try:
        row = await db.fetchrow(
            CREATE,
            new.username,
            new.email,
            new.password_hash,
            new.first_name,
            new.last_name,
            new.email_verified,
            new.avatar_url,
            new.google_subject,
            new.is_staff,
            new.fingerprint,
        )
    except UniqueViolationError as violation:
        raise _taken(violation) from None
    return _account(row)


FIND = "SELECT * FROM account WHERE id = $1"


async def find(db: DB, account_id: int) -> Account | None:
    row = await db.fetchrow(FIND, account_id)
    return row and _account(row)


FIND_BY_EMAIL = "SELECT * FROM account WHERE lower(email) = lower($1)"


async def find_by_email(db: DB, email: str) -> Account | None:
    row = await db.fetchrow(FIND_BY_EMAIL, email)
    return row and _account(row)


FIND_BY_GOOGLE = "SELECT * FROM account WHERE google_subject = $1"


async def find_by_google(db: DB, subject: str) -> Account | None:
    row = await db.fetchrow(FIND_BY_GOOGLE, subject)
    return row and _account(row)


FIND_BY_USERNAME = "SELECT * FROM account WHERE lower(username) = lower($1)"


async def credentials(db: DB, *, email: str | None = None, username: str | None = None) -> Credentials | None:
    """The account that signs in by this e-mail address or, without one, by this username."""
    row = await (db.fetchrow(FIND_BY_EMAIL, email) if email is not None else db.fetchrow(FIND_BY_USERNAME, username))
    return row and Credentials(_account(row), row["password_hash"])


async def credentials_of(db: DB, account_id: int) -> Credentials | None:
    row = await db.fetchrow(FIND, account_id)
    return row and Credentials(_account(row), row["password_hash"])


async def first_free_username(db: DB, suggestions: Iterable[str]) -> str:
    """The first of endless suggestions that nobody has."""
    for username in suggestions:
        if await db.fetchrow(FIND_BY_USERNAME, username) is None:
            return username
    raise AssertionError("suggestions never end")


STANDING = "SELECT is_staff, blocked_at IS NOT NULL AS blocked FROM account WHERE id = $1"


async def standing(db: DB, account_id: int) -> Standing | None:
    row = await db.fetchrow(STANDING, account_id)
    return row and Standing(**row)


UPDATE_PROFILE = """
    UPDATE account
       SET first_name = coalesce($2, first_name),
           last_name = coalesce($3, last_name),
           email = coalesce($4, email),
           email_verified = email_verified AND lower(coalesce($4, email)) = lower(email)
     WHERE id = $1
    RETURNING *
"""


async def update_profile(db: DB, account_id: int, changes: Mapping[str, Any]) -> Account:
    """Change the names and the address that `changes` holds; another address has yet to be verified."""
    values = (changes.get("first_name"), changes.get("last_name"), changes.get("email"))
    try:
        row = await db.fetchrow(UPDATE_PROFILE, account_id, *values)
    except UniqueViolationError as violation:
        raise _taken(violation) from None
    if row is None:
        raise NotFound
    return _account(row)


SET_PASSWORD = "UPDATE account SET password_hash = $2 WHERE id = $1"


async def set_password(db: DB, account_id: int, password_hash: str) -> None:
    await db.execute(SET_PASSWORD, account_id, password_hash)


REPLACE_PASSWORD_HASH = "UPDATE account SET password_hash = $3 WHERE id = $1 AND password_hash = $2"


async def replace_password_hash(db: DB, account_id: int, old: str, new: str) -> bool:
    """Store the new hash unless somebody else changed the password meanwhile."""
    done: str = await db.execute(REPLACE_PASSWORD_HASH, account_id, old, new)
    return done == "UPDATE 1"


VERIFY_EMAIL = "UPDATE account SET email_verified = true WHERE id = $1 RETURNING *"


async def verify_email(db: DB, account_id: int) -> Account:
    return _account(await db.fetchrow(VERIFY_EMAIL, account_id))


# Whoever registered an address without proving it is theirs must not keep a way into the account of the
# person who then did.
LINK_GOOGLE = """
    UPDATE account
       SET google_subject = $2,
           avatar_url = coalesce(avatar_url, $3),
           password_hash = CASE WHEN email_verified THEN password_hash END,
           email_verified = true
     WHERE id = $1
    RETURNING *
"""


async def link_google(db: DB, account_id: int, subject: str, avatar_url: str | None) -> Account:
    return _account(await db.fetchrow(LINK_GOOGLE, account_id, subject, avatar_url))


BLOCK = "UPDATE account SET blocked_at = coalesce(blocked_at, now()), blocked_reason = $2 WHERE id = $1"


async def block(db: DB, account_id: int, reason: str) -> None:
    await db.execute(BLOCK, account_id, reason)


UNBLOCK = "UPDATE account SET blocked_at = NULL, blocked_reason = NULL WHERE id = $1"


async def unblock(db: DB, account_id: int) -> None:
    await db.execute(UNBLOCK, account_id)


BLOCKED_WITHIN = "SELECT id FROM account WHERE blocked_at > now() - $1::interval"


async def blocked_within(db: DB, span: timedelta) -> set[int]:
    return {row["id"] for row in await db.fetch(BLOCKED_WITHIN, span)}


BLOCKED_WITH_RUNS = """
    SELECT DISTINCT run.account_id
      FROM run
      JOIN account ON account.id = run.account_id
     WHERE run.status IN ('queued', 'running', 'paused') AND account.blocked_at IS NOT NULL
"""


async def blocked_with_runs(db: DB) -> list[int]:
    """Blocked accounts whose books are still being written."""
    return [row["account_id"] for row in await db.fetch(BLOCKED_WITH_RUNS)]


MAKE_STAFF = "UPDATE account SET is_staff = true WHERE id = $1"


async def make_staff(db: DB, account_id: int) -> None:
    await db.execute(MAKE_STAFF, account_id)


@dataclass(frozen=True, slots=True)
class Overview:
    """An account as the operator's list shows it."""

    id: int
    email: str
    username: str
    plan: str | None
    books: int
    is_staff: bool
    blocked: bool
    created_at: datetime


LIST = """
    SELECT account.id, email, username, plan.slug AS plan, is_staff, blocked_at IS NOT NULL AS blocked,
           account.created_at, (SELECT count(*) FROM book WHERE book.account_id = account.id) AS books
      FROM account
      LEFT JOIN subscription ON subscription.account_id = account.id
      LEFT JOIN plan ON plan.id = subscription.plan_id
     ORDER BY account.id
"""


async def list_all(db: DB) -> list[Overview]:
    return [Overview(**row) for row in await db.fetch(LIST)]


LOCK_FINGERPRINT = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
COUNT_BY_FINGERPRINT = "SELECT count(*) FROM account WHERE fingerprint = $1"


async def count_by_fingerprint(connection: Connection, fingerprint: str) -> int:
    """How many accounts this browser registered; until the transaction ends nobody else may add one."""
    await connection.execute(LOCK_FINGERPRINT, fingerprint)
    count: int = await connection.fetchval(COUNT_BY_FINGERPRINT, fingerprint)
    return count


# What was not seen for long is forgotten: addresses are personal data.
RECORD_ORIGIN = """
    WITH forgotten AS (
        DELETE FROM account_origin WHERE account_id = $1 AND seen_at < now() - interval '90 days')
    INSERT INTO account_origin (account_id, kind, value)
    SELECT $1, kind, value FROM unnest($2::text[], $3::text[]) AS origin (kind, value)
    ON CONFLICT (account_id, kind, value) DO UPDATE SET seen_at = now()
"""


async def record_origin(db: DB, account_id: int, origin: Mapping[str, str]) -> None:
    await db.execute(RECORD_ORIGIN, account_id, list(origin), list(origin.values()))


def _account(row: Record) -> Account:
    return Account(
        id=row["id"],
        username=row["username"],
        email=row["email"],
        first_name=row["first_name"],
        last_name=row["last_name"],
        email_verified=row["email_verified"],
        avatar_url=row["avatar_url"],
        is_staff=row["is_staff"],
        is_superuser=row["is_superuser"],
        blocked=row["blocked_at"] is not None,
        created_at=row["created_at"],
    )


TAKEN = {
    "account_username": ("username", "This username is taken."),
    "account_email": ("email", "An account with this e-mail address exists."),
    "account_google_subject_key": ("access_token", "This Google account belongs to another account."),
}


def _taken(violation: UniqueViolationError) -> InvalidInput:
    field, sentence = TAKEN[violation.constraint_name]
    return InvalidInput(sentence, **{field: [sentence]})
