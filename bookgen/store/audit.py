"""The operator's deeds: who did what to which account, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asyncpg import Connection

RECORD = "INSERT INTO audit (actor, action, account_id, details, reason) VALUES ($1, $2, $3, $4, $5)"


async def record(
    connection: Connection,
    *,
    actor: str,
    action: str,
    account_id: int,
    details: Mapping[str, Any],
    reason: str = "",
) -> None:
    await connection.execute(RECORD, actor, action, account_id, details, reason)
