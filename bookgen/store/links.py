"""One-time links that were mailed: only their hashes are known here."""

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


# The row lock lets one of two callers through; the other finds the link used.
CONSUME = """
    UPDATE link
       SET used_at = now()
      FROM account
     WHERE link.account_id = $1
       AND link.purpose = $2
       AND link.token_hash = $3
       AND link.used_at IS NULL
       AND link.expires_at > now()
       AND account.id = link.account_id
       AND lower(account.email) = lower(link.email)
    RETURNING link.id
"""


async def consume(db: DB, account_id: int, purpose: LinkPurpose, token_hash: bytes) -> bool:
    """Use the link up, if it is one, is fresh and was mailed to the address the account still has."""
    return await db.fetchval(CONSUME, account_id, purpose, token_hash) is not None


VOID = "UPDATE link SET used_at = now() WHERE account_id = $1 AND purpose = $2 AND used_at IS NULL"


async def void(db: DB, account_id: int, purpose: LinkPurpose) -> None:
    await db.execute(VOID, account_id, purpose)


DISCARD = "DELETE FROM link WHERE token_hash = $1"


async def discard(db: DB, token_hash: bytes) -> None:
    """Forget a link whose letter could not be sent."""
    await db.execute(DISCARD, token_hash)


COUNT_WITHIN = """
    SELECT count(*) FROM link WHERE account_id = $1 AND purpose = $2 AND created_at > now() - $3::interval
"""


async def count_within(db: DB, account_id: int, purpose: LinkPurpose, span: timedelta) -> int:
    count: int = await db.fetchval(COUNT_WITHIN, account_id, purpose, span)
    return count


PRUNE = "DELETE FROM link WHERE expires_at < now() - interval '7 days'"


async def prune(db: DB) -> None:
    await db.execute(PRUNE)
