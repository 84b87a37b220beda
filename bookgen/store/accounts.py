"""Accounts: who may sign in, and with which name, address or Google account."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from asyncpg import Connection, Record, UniqueViolationError

from bookgen.errors import InvalidInput, must_exist
from bookgen.models import Account
from bookgen.store.database import DB
from bookgen.store.rows import columns, field_names, mapper, parameters

account_of = mapper(Account, blocked=lambda row: row["blocked_at"] is not None)


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
class LoginCandidate:
    """The account for a login attempt. `account` is None if no account has the address or username in the request.

    `name`: that address or username, normalised (to lower case, for example) as in the account's key column; empty if
    the account was looked up by its id. `known_origin`: the request's browser or network if the account was used from
    it before; otherwise None.
    """

    name: str
    account: Account | None
    password_hash: str | None
    known_origin: str | None


@dataclass(frozen=True, slots=True)
class Rights:
    """The facts about an account that every API call checks."""

    is_staff: bool
    blocked: bool
    tokens_valid_from: datetime


NEW = field_names(NewAccount)

CREATE = f"INSERT INTO account ({columns(NEW)}) VALUES ({parameters(NEW)}) RETURNING *"


async def create(db: DB, new: NewAccount) -> Account:
    try:
        return account_of(await db.fetchrow(CREATE, *astuple(new)))
    except UniqueViolationError as violation:
        raise taken(violation) from None


FIND = "SELECT * FROM account WHERE id = $1"


async def find(db: DB, account_id: int) -> Account | None:
    row = await db.fetchrow(FIND, account_id)
    return row and account_of(row)


async def author_name(db: DB, account_id: int) -> str:
    """The author name for the account's books that name no author. Empty if the account no longer exists."""
    account = await find(db, account_id)
    return account.author_name if account else ""


FIND_BY_EMAIL = "SELECT * FROM account WHERE email_key = folded_address($1)"


async def find_by_email(db: DB, email: str) -> Account | None:
    row = await db.fetchrow(FIND_BY_EMAIL, email)
    return row and account_of(row)


FIND_BY_GOOGLE = "SELECT * FROM account WHERE google_subject = $1"


async def find_by_google(db: DB, subject: str) -> Account | None:
    row = await db.fetchrow(FIND_BY_GOOGLE, subject)
    return row and account_of(row)


# The same statement runs whether or not the account exists, so the response time does not reveal it.
KNOWN_ORIGIN = """
    (SELECT min(seen.kind || ' ' || seen.value)
       FROM account_origin seen
       JOIN unnest($2::text[], $3::text[]) AS origin (kind, value) USING (kind, value)
      WHERE seen.account_id = account.id) AS known_origin
"""

CANDIDATE_BY_EMAIL = f"""
    SELECT given.name, account.*, {KNOWN_ORIGIN}
      FROM (SELECT folded_address($1) AS name) AS given LEFT JOIN account ON account.email_key = given.name
"""


async def candidate_by_email(db: DB, email: str, origin: Mapping[str, str]) -> LoginCandidate:
    return _candidate(await db.fetchrow(CANDIDATE_BY_EMAIL, email, list(origin), list(origin.values())))


CANDIDATE_BY_USERNAME = f"""
    SELECT given.name, account.*, {KNOWN_ORIGIN}
      FROM (SELECT folded($1) AS name) AS given LEFT JOIN account ON account.username_key = given.name
"""


async def candidate_by_username(db: DB, username: str, origin: Mapping[str, str]) -> LoginCandidate:
    return _candidate(await db.fetchrow(CANDIDATE_BY_USERNAME, username, list(origin), list(origin.values())))


CANDIDATE_BY_ID = f"SELECT '' AS name, account.*, {KNOWN_ORIGIN} FROM account WHERE id = $1"


async def candidate_by_id(db: DB, account_id: int, origin: Mapping[str, str]) -> LoginCandidate:
    """Look up an account by its id to check its password. Raises NotFound if the account no longer exists.

    `origin`: the browser and network of the request. `known_origin` tells if the account has used one of them before.
    """
    row = must_exist(await db.fetchrow(CANDIDATE_BY_ID, account_id, list(origin), list(origin.values())))
    return _candidate(row)


def _candidate(row: Record) -> LoginCandidate:
    account = account_of(row) if row["id"] is not None else None
    return LoginCandidate(row["name"], account, row["password_hash"], row["known_origin"])


def suggested_usernames(email: str) -> Iterator[str]:
    """Endless username suggestions: the local part of the address, then the same with random suffixes."""
    local = re.sub(r"[^\w.+-]", "", email.partition("@")[0])[:100]
    stem = local if len(local) >= 3 else f"{local}author"
    yield stem
    while True:
        yield f"{stem}-{secrets.token_hex(3)}"


FIND_BY_USERNAME = "SELECT * FROM account WHERE username_key = folded($1)"


async def first_free_username(db: DB, email: str) -> str:
    """The first suggested username for the address that is still free."""
    suggestions = suggested_usernames(email)
    username = next(suggestions)
    while await db.fetchrow(FIND_BY_USERNAME, username):
        username = next(suggestions)
    return username


RIGHTS_COLUMNS = "id, is_staff, blocked_at IS NOT NULL AS blocked, tokens_valid_from"
_rights_of = mapper(Rights)

RIGHTS = f"SELECT {RIGHTS_COLUMNS} FROM account WHERE id = $1"


async def rights(db: DB, account_id: int) -> Rights | None:
    """The rights of an account; None if there is no such account."""
    row = await db.fetchrow(RIGHTS, account_id)
    return row and _rights_of(row)


RIGHTS_OF_MANY = f"SELECT {RIGHTS_COLUMNS} FROM account WHERE id = ANY($1::bigint[])"


async def rights_of_many(db: DB, account_ids: list[int]) -> dict[int, Rights]:
    """The rights of the accounts that exist, by id."""
    return {row["id"]: _rights_of(row) for row in await db.fetch(RIGHTS_OF_MANY, account_ids)}


# A different address only becomes pending until it is confirmed. A new spelling of the same address applies at once.
UPDATE_PROFILE = """
    UPDATE account
       SET first_name = coalesce($2, first_name),
           last_name = coalesce($3, last_name),
           email = CASE WHEN folded_address($4) = email_key THEN $4 ELSE email END,
           pending_email = CASE WHEN folded_address($4) <> email_key THEN $4 ELSE pending_email END,
           pending_proven = pending_proven AND coalesce(folded_address($4) = email_key, true),
           pending_approved = CASE WHEN folded_address($4) <> email_key THEN $5 OR NOT email_verified
                                   ELSE pending_approved END
     WHERE id = $1
    RETURNING *
"""


async def update_profile(db: DB, account_id: int, changes: Mapping[str, Any], *, approved: bool = False) -> Account:
    """Change the first name, last name and e-mail address, each only if `changes` contains it. Returns the account.

    A different address is only pending until the user has confirmed it (see `store/addresses.py`). `approved`: the
    request contained the account's password, which approves the change. While the current address is unverified, any
    change of it is approved.
    """
    changed = map(changes.get, ("first_name", "last_name", "email"))
    return account_of(must_exist(await db.fetchrow(UPDATE_PROFILE, account_id, *changed, approved)))


SET_PASSWORD = "UPDATE account SET password_hash = $2 WHERE id = $1"


async def set_password(db: DB, account_id: int, password_hash: str) -> None:
    await db.execute(SET_PASSWORD, account_id, password_hash)


REPLACE_PASSWORD_HASH = "UPDATE account SET password_hash = $3 WHERE id = $1 AND password_hash = $2"


async def replace_password_hash(db: DB, account_id: int, old: str, new: str) -> bool:
    """Replace the stored hash `old` with `new`. Returns False if the stored hash is no longer `old`."""
    done: str = await db.execute(REPLACE_PASSWORD_HASH, account_id, old, new)
    return done == "UPDATE 1"


LINK_GOOGLE = """
    UPDATE account SET google_subject = $2, avatar_url = coalesce(avatar_url, $3) WHERE id = $1 RETURNING *
"""


async def link_google(db: DB, account_id: int, subject: str, avatar_url: str | None) -> Account:
    return account_of(await db.fetchrow(LINK_GOOGLE, account_id, subject, avatar_url))


END_TOKENS = """
    UPDATE account SET tokens_valid_from = greatest(clock_timestamp(), tokens_valid_from, $2) WHERE id = $1
"""


async def end_tokens(db: DB, account_id: int, now: datetime) -> None:
    """Invalidate all tokens issued up to the database's current time or up to `now`, whichever is later."""
    await db.execute(END_TOKENS, account_id, now)


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
    """The ids of the blocked accounts that have an active run: a book being written, paused, or in the queue."""
    return [row["account_id"] for row in await db.fetch(BLOCKED_WITH_RUNS)]


MAKE_STAFF = "UPDATE account SET is_staff = true WHERE id = $1"


async def make_staff(db: DB, account_id: int) -> None:
    await db.execute(MAKE_STAFF, account_id)


REMOVE_STAFF = "UPDATE account SET is_staff = false WHERE id = $1"


async def remove_staff(db: DB, account_id: int) -> None:
    await db.execute(REMOVE_STAFF, account_id)


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """An account as it appears in the operator's list."""

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


async def list_all(db: DB) -> list[AccountSummary]:
    return [AccountSummary(**row) for row in await db.fetch(LIST)]


LOCK_FINGERPRINT = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
COUNT_BY_FINGERPRINT = "SELECT count(*) FROM account WHERE fingerprint = $1"


async def count_by_fingerprint(connection: Connection, fingerprint: str) -> int:
    """How many accounts this browser registered. A lock keeps the number from changing until the transaction ends."""
    await connection.execute(LOCK_FINGERPRINT, fingerprint)
    count: int = await connection.fetchval(COUNT_BY_FINGERPRINT, fingerprint)
    return count


COUNT_REGISTRATION = """
    INSERT INTO registration (network, accounts) VALUES ($1, 1)
    ON CONFLICT (day, network) DO UPDATE SET accounts = registration.accounts + 1
    RETURNING accounts
"""


async def count_registration(connection: Connection, network: str) -> int:
    """Count a registration from this network. Returns today's count. The same transaction must add the account."""
    count: int = await connection.fetchval(COUNT_REGISTRATION, network)
    return count


IS_PROVEN = """
    SELECT a.email_verified OR a.is_staff
        OR EXISTS (SELECT FROM subscription s JOIN plan p ON p.id = s.plan_id
                    WHERE s.account_id = a.id AND (s.processor_id IS NOT NULL OR p.price_monthly > 0))
        OR EXISTS (SELECT FROM credit_lot l WHERE l.account_id = a.id)
        OR NOT EXISTS (SELECT FROM account_origin o WHERE o.account_id = a.id AND o.kind = 'address')
      FROM account a
     WHERE a.id = $1
"""


async def is_proven(db: DB, account_id: int) -> bool:
    """Whether the account may cause costs, because someone real is known to be behind it.

    An account is proven if its address is verified, if it is staff, if it has had a paid plan or credits (bought, or
    granted by the operator), or if it was used only from the machine that bookgen runs on.
    """
    return bool(await db.fetchval(IS_PROVEN, account_id))


# Origins not seen for 90 days are deleted, because network addresses are personal data.
RECORD_ORIGIN = """
    WITH origin AS (
        SELECT kind, value FROM unnest($2::text[], $3::text[]) AS origin (kind, value)
    ), forgotten AS (
        DELETE FROM account_origin WHERE account_id = $1 AND seen_at < now() - interval '90 days'
    ), recorded AS (
        INSERT INTO account_origin (account_id, kind, value) SELECT $1, kind, value FROM origin
        ON CONFLICT (account_id, kind, value) DO UPDATE SET seen_at = now()
    )
    SELECT count(*) > 0 AND count(origin.kind) = 0
      FROM account_origin AS before LEFT JOIN origin USING (kind, value)
     WHERE before.account_id = $1
"""


async def record_origin(db: DB, account_id: int, origin: Mapping[str, str]) -> bool:
    """Record the browser and network. Returns whether both are new to the account, although it was used before."""
    return bool(await db.fetchval(RECORD_ORIGIN, account_id, list(origin), list(origin.values())))


TAKEN = {
    "account_username": ("username", "This username is taken."),
    "account_email": ("email", "An account with this e-mail address already exists."),
    "account_google_subject_key": ("access_token", "This Google account belongs to another account."),
}


def taken(violation: UniqueViolationError) -> InvalidInput:
    """The error to raise if another account already has the username, address or Google account."""
    field, sentence = TAKEN[violation.constraint_name]
    return InvalidInput(sentence, **{field: [sentence]})
