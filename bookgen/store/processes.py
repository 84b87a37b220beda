"""Leases of serving processes: one row each, renewed by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from bookgen.store.database import DB

REGISTER = """
    INSERT INTO process (boot_id, host, pid, pid_started, lease_until, writer, any_writer)
    VALUES ($1, $2, $3, $4, now() + $5 * interval '1 second', $6, $7)
    ON CONFLICT (boot_id) DO UPDATE SET lease_until = EXCLUDED.lease_until
"""


async def register(
    db: DB,
    boot_id: UUID,
    host: str,
    pid: int,
    pid_started: str,
    seconds: float,
    *,
    writer: str = "",
    any_writer: bool = True,
) -> None:
    """Gives the process a lease. `writer` is the model that it has; `any_writer`: it may continue any run with it."""
    await db.execute(REGISTER, boot_id, host, pid, pid_started, float(seconds), writer, any_writer)


@dataclass(frozen=True, slots=True)
class Renewal:
    """How many other processes are alive, and whether the lease that was renewed had run out by the server's clock."""

    others: int
    overdue: bool


# What the queries of RETURNING read is as it was before.
RENEW = """
    UPDATE process SET lease_until = now() + $2 * interval '1 second' WHERE boot_id = $1
    RETURNING (SELECT count(*) FROM process o WHERE o.boot_id <> $1 AND o.lease_until > now()) AS others,
              EXISTS (SELECT FROM process o WHERE o.boot_id = $1 AND o.lease_until <= now()) AS overdue
"""


async def renew(db: DB, boot_id: UUID, seconds: float) -> Renewal | None:
    """Has the lease last for so many seconds from now. None when the process is not known any more."""
    row = await db.fetchrow(RENEW, boot_id, float(seconds))
    return row and Renewal(**row)


DRAIN = "UPDATE process SET draining = true WHERE boot_id = $1"


async def drain(db: DB, boot_id: UUID) -> None:
    """Says that the process is about to end, or has lost its lease and lives on: no run is charged for its end."""
    await db.execute(DRAIN, boot_id)


SET_WRITER = "UPDATE process SET writer = $2 WHERE boot_id = $1"


async def set_writer(db: DB, boot_id: UUID, writer: str) -> None:
    """Says which model the process has, where its server has told that late."""
    await db.execute(SET_WRITER, boot_id, writer)


EXPIRE = "UPDATE process SET lease_until = now() WHERE boot_id = $1 AND lease_until > now()"


async def expire(db: DB, boot_id: UUID) -> None:
    await db.execute(EXPIRE, boot_id)


@dataclass(frozen=True, slots=True)
class LivingProcess:
    """A process of this machine, by its id and by when it began."""

    boot_id: UUID
    pid: int
    pid_started: str


ON_HOST = "SELECT boot_id, pid, pid_started FROM process WHERE host = $1 AND boot_id <> $2 AND lease_until > now()"


async def on_host(db: DB, host: str, boot_id: UUID) -> list[LivingProcess]:
    """The other processes of this machine whose lease still runs."""
    return [LivingProcess(**row) for row in await db.fetch(ON_HOST, host, boot_id)]


# A dead process is kept while runs in progress name it, because its `draining` says whether they are charged.
# When the server's clock jumps ahead, all have seemed dead for long until they renew, and so has the one that asks.
PRUNE = """
    DELETE FROM process p
     WHERE p.lease_until < now() - interval '1 minute'
       AND EXISTS (SELECT FROM process asks WHERE asks.boot_id = $1 AND asks.lease_until > now())
       AND NOT EXISTS (SELECT FROM run r WHERE r.owner = p.boot_id AND r.status IN ('queued', 'running', 'paused'))
"""


async def prune(db: DB, boot_id: UUID) -> None:
    """Forgets processes that are gone. `boot_id`: who asks, with a lease."""
    await db.execute(PRUNE, boot_id)
