"""Who owns an e-mail address: confirming it, changing it, handing it over and undoing a change.

To change the address of an account, a user requests a new address, which is then pending. The pending address replaces
the current one when it is both proven (the link mailed to the new address was opened) and approved (by the account's
password, or by a link mailed to the current address). The former address stays reserved for the account for eight days,
so that the change can be undone.
"""

from __future__ import annotations

from datetime import datetime

from asyncpg import Connection, UniqueViolationError

from bookgen.models import Account
from bookgen.store.accounts import account_of, taken
from bookgen.store.database import DB

IS_FREE = """
    SELECT NOT EXISTS (SELECT FROM account WHERE email_key = folded_address($2) AND id <> $1)
       AND NOT EXISTS (SELECT FROM former_address
                        WHERE email_key = folded_address($2) AND account_id <> $1 AND reserved_until > now())
"""


async def is_free(db: DB, account_id: int, email: str) -> bool:
    """Whether the account may take the address: no other account has it or had it recently (`reserved_until`)."""
    free: bool = await db.fetchval(IS_FREE, account_id, email)
    return free


LOCK = "SELECT *, email_key = folded_address($2) AS has_it FROM account WHERE id = $1 FOR NO KEY UPDATE"


async def lock(connection: Connection, account_id: int, email: str) -> tuple[Account, bool]:
    """Lock the account until the transaction ends. Returns the account, and whether `email` is its address."""
    row = await connection.fetchrow(LOCK, account_id, email)
    return account_of(row), row["has_it"]


CONFIRM = """
    UPDATE account
       SET email = $2,
           email_verified = true,
           pending_email = CASE WHEN folded_address(pending_email) <> folded_address($2) THEN pending_email END
     WHERE id = $1
    RETURNING *
"""


async def confirm(connection: Connection, account_id: int, email: str) -> Account:
    """Set the account's address and mark it as verified. Raises InvalidInput if another account has that address."""
    return await _set_address(connection, CONFIRM, account_id, email)


PROVE_PENDING = "UPDATE account SET pending_proven = true WHERE id = $1 RETURNING pending_approved"


async def prove_pending(connection: Connection, account_id: int) -> bool:
    """Record that the account's pending address is proven. Returns whether the change of address is approved too."""
    return bool(await connection.fetchval(PROVE_PENDING, account_id))


APPROVE_PENDING = "UPDATE account SET pending_approved = true WHERE id = $1 RETURNING pending_proven"


async def approve_pending(connection: Connection, account_id: int) -> bool:
    """Record that the change to the pending address is approved. Returns whether that address is proven too."""
    return bool(await connection.fetchval(APPROVE_PENDING, account_id))


HAND_OVER = """
    UPDATE account
       SET email = $2,
           email_verified = true,
           pending_email = NULL,
           password_hash = NULL,
           google_subject = NULL,
           tokens_valid_from = greatest(clock_timestamp(), tokens_valid_from, $3)
     WHERE id = $1
    RETURNING *
"""


async def hand_over(connection: Connection, account_id: int, email: str, now: datetime) -> Account:
    """Give the account to the person who proved the address. Removes its password, Google link and tokens."""
    return await _set_address(connection, HAND_OVER, account_id, email, now)


async def _set_address(connection: Connection, statement: str, *arguments: object) -> Account:
    try:
        return account_of(await connection.fetchrow(statement, *arguments))
    except UniqueViolationError as violation:
        raise taken(violation) from None


FORGET_PENDING = "UPDATE account SET pending_email = NULL WHERE id = $1"


async def forget_pending(connection: Connection, account_id: int) -> None:
    await connection.execute(FORGET_PENDING, account_id)


# The link that undoes the change is valid for a week, and its letter may be sent up to a day late.
RESERVE = """
    INSERT INTO former_address (email_key, account_id, reserved_until)
    SELECT email_key, id, now() + interval '8 days' FROM account WHERE id = $1
    ON CONFLICT (email_key) DO UPDATE SET account_id = excluded.account_id, reserved_until = excluded.reserved_until
"""


async def reserve(connection: Connection, account_id: int) -> None:
    """Reserve the account's current address for eight days. Call this before the address is changed."""
    await connection.execute(RESERVE, account_id)


LOCK_HOLDER = """
    SELECT *, NOT email_verified AND (password_hash IS NOT NULL OR google_subject IS NOT NULL) AS unproven
      FROM account
     WHERE email_key = folded_address($1)
       FOR NO KEY UPDATE
"""


async def lock_holder(connection: Connection, email: str) -> tuple[Account, bool] | None:
    """Lock the account that has this address until the transaction ends. None if no account has the address.

    Returns the account, and whether it can be signed in to (by a password or Google) although its address is
    unverified.
    """
    row = await connection.fetchrow(LOCK_HOLDER, email)
    return row and (account_of(row), row["unproven"])


PRUNE = "DELETE FROM former_address WHERE reserved_until < now()"


async def prune(db: DB) -> None:
    await db.execute(PRUNE)
