"""The keys that sign tokens, encrypted, and the fingerprint of the secret that they are encrypted with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from asyncpg import Connection

from bookgen.store.database import DB
from bookgen.store.rows import mapper


@dataclass(frozen=True, slots=True)
class SealedKey:
    """An encrypted key. `signs`: new tokens may be signed with it, because every process has loaded it by now.

    `supersedes_earlier`: no valid token was signed with an earlier key, so that all earlier keys can be ignored.
    """

    sealed: bytes
    signs: bool
    supersedes_earlier: bool


CLAIM = "INSERT INTO server_secret (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING"
FINGERPRINT = "SELECT fingerprint FROM server_secret"


async def claim(db: DB, fingerprint: str) -> str:
    """Store the fingerprint of the secret if the database has none yet. Returns the fingerprint that the database has.

    If that differs from `fingerprint`, the keys in the database are encrypted with another secret.
    """
    await db.execute(CLAIM, fingerprint)
    return str(await db.fetchval(FINGERPRINT))


async def fingerprint(db: DB) -> str | None:
    """The fingerprint of the database's secret; None before the first start."""
    found: str | None = await db.fetchval(FINGERPRINT)
    return found


FORGET = "DELETE FROM signing_key"
REPLACE = """
    INSERT INTO server_secret (fingerprint) VALUES ($1)
    ON CONFLICT (singleton) DO UPDATE SET fingerprint = excluded.fingerprint, created_at = now()
"""


async def replace(connection: Connection, fingerprint: str) -> None:
    """Bind the database to another secret. All keys are deleted."""
    await connection.execute(FORGET)
    await connection.execute(REPLACE, fingerprint)


LIST = """
    SELECT sealed, created_at <= now() - $1::interval AS signs, created_at <= now() - $2::interval AS supersedes_earlier
      FROM signing_key ORDER BY id DESC
"""

_key_of = mapper(SealedKey)


async def listed(db: DB, lead: timedelta, lifetime: timedelta) -> list[SealedKey]:
    """The keys, newest first.

    `lead`: the age from which a key signs new tokens. `lifetime`: how long a token is valid.
    """
    return [_key_of(row) for row in await db.fetch(LIST, lead, lead + lifetime)]


ADD = "INSERT INTO signing_key (sealed) VALUES ($1)"


async def add(db: DB, sealed: bytes) -> None:
    await db.execute(ADD, sealed)
