"""Bans: browsers and networks from which no account may be registered."""

from __future__ import annotations

from collections.abc import Mapping

from asyncpg import Connection

from bookgen.store.database import DB

BANNED = """
    SELECT EXISTS (
        SELECT FROM ban JOIN unnest($1::text[], $2::text[]) AS origin (kind, value) USING (kind, value)
    )
"""


async def banned(db: DB, origin: Mapping[str, str]) -> bool:
    """Whether the browser or the network in `origin` is banned."""
    found: bool = await db.fetchval(BANNED, list(origin), list(origin.values()))
    return found


BAN_ORIGINS = """
    INSERT INTO ban (kind, value, account_id, reason)
    SELECT kind, value, account_id, $2 FROM account_origin WHERE account_id = $1
    ON CONFLICT (kind, value) DO NOTHING
    RETURNING kind, value
"""


async def ban_origins(connection: Connection, account_id: int, reason: str) -> int:
    """Ban every browser and network the account was used from. Returns how many bans are new."""
    return len(await connection.fetch(BAN_ORIGINS, account_id, reason))


LIFT = "DELETE FROM ban WHERE account_id = $1"


async def lift(connection: Connection, account_id: int) -> None:
    await connection.execute(LIFT, account_id)
