"""The audit log: what was done to an account, by whom, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bookgen.store.database import DB
from bookgen.store.rows import mapper

RECORD = "INSERT INTO audit (actor, action, account_id, details, reason) VALUES ($1, $2, $3, $4, $5)"


async def record(
    connection: DB, *, actor: str, action: str, account_id: int, details: Mapping[str, Any], reason: str = ""
) -> None:
    await connection.execute(RECORD, actor, action, account_id, details, reason)


COUNT = """
    SELECT count(*) FROM audit
     WHERE account_id = $1 AND action = $2 AND created_at > now() - $3::interval AND details @> $4
"""


async def count(db: DB, account_id: int, action: str, within: timedelta, details: Mapping[str, Any]) -> int:
    """How many of the account's entries from the last `within` record this action with all these details."""
    return int(await db.fetchval(COUNT, account_id, action, within, details))


@dataclass(frozen=True, slots=True)
class AuditEntry:
    actor: str
    action: str
    details: Mapping[str, Any]
    reason: str
    created_at: datetime


LIST = """
    SELECT actor, action, details, reason, created_at FROM audit WHERE account_id = $1 ORDER BY id DESC LIMIT $2
"""

_entry = mapper(AuditEntry)


async def listed(db: DB, account_id: int, limit: int) -> list[AuditEntry]:
    """The newest entries of an account, newest first."""
    return [_entry(row) for row in await db.fetch(LIST, account_id, limit)]
