"""One-time links sent by e-mail. Only their hashes are stored."""

from __future__ import annotations

from datetime import timedelta

from bookgen.models import LinkPurpose
from bookgen.store.database import DB

CREATE = """
    INSERT INTO link (account_id, purpose, email, token_hash, expires_at)
    VALUES ($1, $2, $3, $4, now() + $5::interval)
"""


async def create(
    db: DB, account_id: int, purpose: LinkPurpose, email: str, token_hash: bytes, lifetime: timedelta
) -> None:
    await db.execute(CREATE, account_id, purpose, email, token_hash, lifetime)


_IS_VALID = """
           link.account_id = $1
       AND link.purpose = $2
       AND link.token_hash = $3
       AND link.used_at IS NULL
       AND link.expires_at > now()
       AND account.id = link.account_id
       AND (link.purpose = 'undo-email'
            OR link.purpose <> 'approve-email' AND folded_address(link.email) = account.email_key
            OR link.purpose IN ('verify-email', 'approve-email')
               AND folded_address(link.email) = folded_address(account.pending_email))
"""

# The row lock serialises two callers: the second finds the link already used.
CONSUME = f"""
    UPDATE link
       SET used_at = now()
      FROM account
     WHERE {_IS_VALID}
    RETURNING link.email
"""


async def consume(db: DB, account_id: int, purpose: LinkPurpose, token_hash: bytes) -> str | None:
    """Mark the link as used, and return the e-mail address that it was made for. None if the link is not valid.

    A link is valid once, until it expires, and while its address still fits the account. A link that verifies an
    address needs the account's current or pending address. A link that approves a change of address needs the pending
    address. A link that undoes a change of address is valid for any address. All other links need the current address.
    """
    email: str | None = await db.fetchval(CONSUME, account_id, purpose, token_hash)
    return email


IS_VALID = f"SELECT EXISTS (SELECT FROM link, account WHERE {_IS_VALID})"


async def is_valid(db: DB, account_id: int, purpose: LinkPurpose, token_hash: bytes) -> bool:
    """Whether `consume` would accept the link now."""
    valid: bool = await db.fetchval(IS_VALID, account_id, purpose, token_hash)
    return valid


VOID = "UPDATE link SET used_at = now() WHERE account_id = $1 AND purpose = $2 AND used_at IS NULL"


async def void(db: DB, account_id: int, purpose: LinkPurpose) -> None:
    await db.execute(VOID, account_id, purpose)


VOID_LATER = """
    UPDATE link SET used_at = now()
     WHERE account_id = $1 AND purpose = $2 AND used_at IS NULL
       AND id > (SELECT id FROM link WHERE token_hash = $3)
"""


async def void_later(db: DB, account_id: int, purpose: LinkPurpose, token_hash: bytes) -> None:
    """Invalidate the account's links of this purpose that were created after the link with this hash."""
    await db.execute(VOID_LATER, account_id, purpose, token_hash)


DISCARD = "DELETE FROM link WHERE token_hash = $1"


async def discard(db: DB, token_hash: bytes) -> None:
    """Delete a link whose e-mail could not be sent."""
    await db.execute(DISCARD, token_hash)


# Counts by account and by mailbox, so many accounts cannot be used to flood one mailbox.
COUNT_WITHIN = """
    SELECT greatest(
        (SELECT count(*) FROM link
          WHERE account_id = $1 AND purpose = $2 AND created_at > now() - $4::interval),
        (SELECT count(*) FROM link
          WHERE folded_address(email) = folded_address($3) AND purpose = $2 AND created_at > now() - $4::interval))
"""


async def count_within(db: DB, account_id: int, purpose: LinkPurpose, email: str, span: timedelta) -> int:
    """How many links of this purpose were made in the last `span`.

    Returns the number for the account or the number for the address, whichever is larger.
    """
    count: int = await db.fetchval(COUNT_WITHIN, account_id, purpose, email, span)
    return count


PRUNE = "DELETE FROM link WHERE expires_at < now() - interval '7 days'"


async def prune(db: DB) -> None:
    await db.execute(PRUNE)
