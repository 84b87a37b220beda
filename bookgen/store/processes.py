"""Leases: each process has a row with the time until which the process counts as alive. The process keeps extending it.

When the lease of a process has expired, others take over its runs. All times are those of the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from bookgen.models import ProcessRole
from bookgen.store.database import DB

REGISTER = """
    INSERT INTO process (boot_id, host, pid, pid_started, lease_until, writer, any_writer, role)
    VALUES ($1, $2, $3, $4, now() + $5 * interval '1 second', $6, $7, $8)
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
    role: ProcessRole = ProcessRole.BOTH,
) -> None:
    """Give the process a lease for `seconds`.

    `boot_id`: the id of this process. `writer`: the name of its model. `any_writer`: the operator has named this model
    for all books, so it may also continue runs that another model has started.
    """
    await db.execute(REGISTER, boot_id, host, pid, pid_started, float(seconds), writer, any_writer, role)


@dataclass(frozen=True, slots=True)
class Renewal:
    """How many other processes are alive, and whether the lease had already expired when it was renewed (`overdue`)."""

    others: int
    overdue: bool


# Subqueries in RETURNING see the rows as they were before the update.
RENEW = """
    UPDATE process SET lease_until = now() + $2 * interval '1 second' WHERE boot_id = $1
    RETURNING (SELECT count(*) FROM process o WHERE o.boot_id <> $1 AND o.lease_until > now()) AS others,
              EXISTS (SELECT FROM process o WHERE o.boot_id = $1 AND o.lease_until <= now()) AS overdue
"""


async def renew(db: DB, boot_id: UUID, seconds: float) -> Renewal | None:
    """Extend the lease to `seconds` from now. None if the process's row has been deleted."""
    row = await db.fetchrow(RENEW, boot_id, float(seconds))
    return row and Renewal(**row)


DRAIN = "UPDATE process SET draining = true WHERE boot_id = $1"


async def drain(db: DB, boot_id: UUID) -> None:
    """Mark the process as ending. When other processes take over its runs, this does not count as a crash.

    This also works for a process that has already lost its lease.
    """
    await db.execute(DRAIN, boot_id)


SET_WRITER = "UPDATE process SET writer = $2 WHERE boot_id = $1"


async def set_writer(db: DB, boot_id: UUID, writer: str) -> None:
    """Store the name of the process's model, which may become known only when a local model server answers."""
    await db.execute(SET_WRITER, boot_id, writer)


EXPIRE = "UPDATE process SET lease_until = now() WHERE boot_id = $1 AND lease_until > now()"


async def expire(db: DB, boot_id: UUID) -> None:
    await db.execute(EXPIRE, boot_id)


@dataclass(frozen=True, slots=True)
class LivingProcess:
    """A process on this machine, identified by its pid and start time."""

    boot_id: UUID
    pid: int
    pid_started: str


ON_HOST = "SELECT boot_id, pid, pid_started FROM process WHERE host = $1 AND boot_id <> $2 AND lease_until > now()"


async def on_host(db: DB, host: str, boot_id: UUID) -> list[LivingProcess]:
    """The other processes on this machine with a valid lease."""
    return [LivingProcess(**row) for row in await db.fetch(ON_HOST, host, boot_id)]


# A dead process is kept while active runs name it, because its `draining` decides whether they count a crash.
# The asking process must have a valid lease: if the server's clock jumps ahead, every process seems long dead until it
# renews, including the asking one.
PRUNE = """
    DELETE FROM process p
     WHERE p.lease_until < now() - interval '1 minute'
       AND EXISTS (SELECT FROM process asks WHERE asks.boot_id = $1 AND asks.lease_until > now())
       AND NOT EXISTS (SELECT FROM run r WHERE r.owner = p.boot_id AND r.status IN ('queued', 'running', 'paused'))
"""


async def prune(db: DB, boot_id: UUID) -> None:
    """Delete the rows of dead processes, except those that own an active run.

    Does nothing unless `boot_id`, the calling process, has a valid lease.
    """
    await db.execute(PRUNE, boot_id)
