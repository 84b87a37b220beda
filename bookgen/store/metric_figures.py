"""Figures about the whole database for the metrics, read in one cheap statement."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.store.database import DB
from bookgen.store.writers import takes_work

MAX_MAILS = 10_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of runs, e-mails and processes, and ages in seconds. `mail_queued` counts up to MAX_MAILS.

    `backup_age`: the age of the newest backup that a trial restore has verified, or None. `backup_missing`: how many
    stored pictures that backup lacks. `unowned`: running runs that no live process writes.
    """

    queued: int
    running: int
    paused: int
    unowned: int
    oldest_wait: float
    mail_queued: int
    mail_oldest_wait: float
    processes: int
    taking_work: int
    backup_age: float | None
    backup_missing: int


# Cheap, because it reads only the active runs, at most MAX_MAILS letters and single rows at the end of an index.
# A queued run was changed last when it joined the queue. The ids of letters rise with their time.
READ = f"""
    WITH active AS (
        SELECT r.status, extract(epoch FROM now() - r.updated_at)::float8 AS waits,
               p.boot_id IS NOT NULL AS owned
          FROM run r LEFT JOIN process p ON p.boot_id = r.owner AND p.lease_until > now()
         WHERE r.status IN ('queued', 'running', 'paused')
    )
    SELECT count(*) FILTER (WHERE status = 'queued') AS queued,
           count(*) FILTER (WHERE status = 'running') AS running,
           count(*) FILTER (WHERE status = 'paused') AS paused,
           count(*) FILTER (WHERE status = 'running' AND NOT owned) AS unowned,
           coalesce(max(waits) FILTER (WHERE status = 'queued'), 0) AS oldest_wait,
           (SELECT count(*) FROM (SELECT FROM mail LIMIT $1) AS letters) AS mail_queued,
           coalesce((SELECT extract(epoch FROM now() - created_at)::float8 FROM mail ORDER BY id LIMIT 1), 0)
               AS mail_oldest_wait,
           (SELECT count(*) FROM process WHERE lease_until > now()) AS processes,
           (SELECT count(*) FROM process p WHERE {takes_work("p")}) AS taking_work,
           (SELECT extract(epoch FROM now() - made_at)::float8 FROM backup WHERE drilled ORDER BY made_at DESC LIMIT 1)
               AS backup_age,
           coalesce((SELECT missing FROM backup WHERE drilled ORDER BY made_at DESC LIMIT 1), 0) AS backup_missing
      FROM active
"""


async def read(db: DB) -> Figures:
    return Figures(**await db.fetchrow(READ, MAX_MAILS))
