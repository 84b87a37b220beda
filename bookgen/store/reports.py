"""Reports of proofreaders and editors: a queue of requested reports. One process at a time works on each report.

The task of a report is the id under which the replies of its model calls are stored. The `epoch` of a report grows each
time the report is claimed. Results of a process that no longer has the report are refused, because their epoch is
outdated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import asyncpg

from bookgen.errors import Conflict
from bookgen.models import Report, ReportKind, ReportStatus, Unread
from bookgen.store import books
from bookgen.store.rows import columns, field_names, mapper

if TYPE_CHECKING:
    from asyncpg import Connection

    from bookgen.store.database import DB

ADD = """
    INSERT INTO report (account_id, book_id, task, chapter_ids, kind) VALUES ($1, $2, $3, $4, $5) RETURNING id
"""


async def add(db: DB, account_id: int, book_id: int, task: UUID, chapter_ids: Sequence[int], kind: ReportKind) -> int:
    """Add a pending report and return its id. Raises Conflict if the book has an unfinished report."""
    try:
        return int(await db.fetchval(ADD, account_id, book_id, task, list(chapter_ids), kind))
    except asyncpg.UniqueViolationError as error:
        if error.constraint_name != "report_one_active_per_book":
            raise
        raise Conflict(
            "This book already has an unfinished report. Wait until the report is finished (GET "
            "/proofreading-reports/?book=…), or delete it."
        ) from None


ADD_OF_PASSAGE = """
    INSERT INTO report (account_id, book_id, task, chapter_ids, kind, done, status, completed_at)
    VALUES ($1, $2, $3, ARRAY[$4::bigint], 'passage', 1, 'completed', now())
    RETURNING id
"""


async def add_of_passage(db: DB, account_id: int, book_id: int, task: UUID, chapter_id: int) -> int:
    """Add a completed report on one passage that a model has rewritten, and return the report's id."""
    return int(await db.fetchval(ADD_OF_PASSAGE, account_id, book_id, task, chapter_id))


ADD_OF_RUN = """
    INSERT INTO report (account_id, book_id, task, chapter_ids, run_id, kind, unread, done, status, completed_at)
    VALUES ($1, $2, $3, $4, $3, $5, $6, cardinality($4::bigint[]), 'completed', now())
    RETURNING id
"""


async def add_of_run(
    db: DB,
    account_id: int,
    book_id: int,
    run_id: UUID,
    chapter_ids: Sequence[int],
    kind: ReportKind,
    unread: Sequence[Unread] = (),
) -> int:
    """Add a completed report that a production has made, and return the report's id.

    A production is a run that goes from the outline to the finished files, and makes such reports in between: at most
    one of each kind.
    """
    return int(await db.fetchval(ADD_OF_RUN, account_id, book_id, run_id, list(chapter_ids), kind, list(unread)))


OF_RUN = "SELECT id FROM report WHERE run_id = $1 AND kind = $2"


async def of_run(db: DB, run_id: UUID, kind: ReportKind) -> int | None:
    """The id of the report of this kind that a production (see `add_of_run`) has made, or None."""
    found: int | None = await db.fetchval(OF_RUN, run_id, kind)
    return found


def _unread(row: asyncpg.Record) -> tuple[Unread, ...]:
    return tuple(Unread(**each) for each in row["unread"])


_report = mapper(Report, unread=_unread)

SHOWN = """
    SELECT r.id, r.book_id, r.kind, r.status, r.done, cardinality(r.chapter_ids) AS chapters, r.unread, r.failure,
           r.created_at, r.completed_at,
           coalesce((SELECT jsonb_object_agg(type, n) FROM (
               SELECT s.type, count(*) AS n FROM suggestion s WHERE s.report_id = r.id GROUP BY s.type) AS t), '{}')
               AS by_type,
           coalesce((SELECT jsonb_object_agg(severity, n) FROM (
               SELECT s.severity, count(*) AS n FROM suggestion s WHERE s.report_id = r.id GROUP BY s.severity) AS t),
               '{}') AS by_severity
      FROM report r
"""

FIND = f"{SHOWN} WHERE r.account_id = $1 AND r.id = $2"


async def find(db: DB, account_id: int, report_id: int) -> Report | None:
    row = await db.fetchrow(FIND, account_id, report_id)
    return _report(row) if row else None


OF_ACCOUNT = f"{SHOWN} WHERE r.account_id = $1 AND ($2::bigint IS NULL OR r.book_id = $2) ORDER BY r.id DESC"


async def of_account(db: DB, account_id: int, book_id: int | None) -> list[Report]:
    """The reports on one book, or on all books of the account, newest first."""
    return [_report(row) for row in await db.fetch(OF_ACCOUNT, account_id, book_id)]


# An unfinished report that is being made, or of which some chapters are read or paid for. The first call of one that is
# being made is not in the ledger yet.
BEGUN = """r.status IN ('pending', 'running')
            AND (r.status = 'running' OR r.done > 0 OR EXISTS (SELECT FROM model_call c
                                        WHERE c.run_id = r.task AND c.cost_micros IS DISTINCT FROM 0))"""

# The task of a production's report is the run itself, and the run's steps must not be deleted with the report.
DELETE = f"""
    WITH gone AS (
        DELETE FROM report r WHERE r.account_id = $1 AND r.id = $2 RETURNING r.task, r.run_id, {BEGUN} AS begun
    ), forgotten AS (DELETE FROM step WHERE run_id IN (SELECT task FROM gone WHERE gone.run_id IS NULL))
    SELECT begun FROM gone
"""


async def delete(db: DB, account_id: int, report_id: int) -> bool | None:
    """Delete the report. Returns None if the account has no such report.

    Otherwise returns whether the report was unfinished, but had been started: a process works on it, chapters are
    finished, or model calls were paid for.
    """
    begun: bool | None = await db.fetchval(DELETE, account_id, report_id)
    return begun


BEGUN_OF_BOOK = f"SELECT EXISTS (SELECT FROM report r WHERE r.book_id = $1 AND {BEGUN})"


async def begun_of_book(db: DB, book_id: int) -> bool:
    """Whether the book has an unfinished report that has been started (see `delete`)."""
    return bool(await db.fetchval(BEGUN_OF_BOOK, book_id))


ACTIVE = "SELECT count(*) FROM report WHERE account_id = $1 AND status IN ('pending', 'running')"


async def active(db: DB, account_id: int) -> int:
    """How many of the account's reports are not finished. Each will count as one proofreading check."""
    return int(await db.fetchval(ACTIVE, account_id))


@dataclass(frozen=True, slots=True)
class ClaimedReport:
    """A report that this process has claimed. Its results are stored only while the report has this `epoch`."""

    id: int
    account_id: int
    book_id: int
    task: UUID
    kind: ReportKind
    chapter_ids: Sequence[int]
    done: int
    unread: Sequence[Unread]
    epoch: int


_claimed = mapper(ClaimedReport, unread=_unread)


# At most one report per account, the oldest first, and none while a run or a job works on the book. Locking the
# account's slot makes this check safe, because runs and jobs begin under the same lock.
CLAIM = f"""
    UPDATE report AS r
       SET owner = $1, epoch = r.epoch + 1, status = 'running'
     WHERE r.id = (
           SELECT c.id
             FROM report c JOIN book b ON b.id = c.book_id JOIN account_slot a ON a.account_id = c.account_id
            WHERE c.status IN ('pending', 'running')
              AND c.id <> ALL($2::bigint[])
              AND (c.owner = $1
                   OR NOT EXISTS (SELECT FROM process p WHERE p.boot_id = c.owner AND p.lease_until > now()))
              AND b.status <> 'generating'
              AND NOT EXISTS (SELECT FROM book_job j JOIN process p ON p.boot_id = j.owner AND p.lease_until > now()
                               WHERE j.book_id = c.book_id)
              AND NOT EXISTS (SELECT FROM report o JOIN process p ON p.boot_id = o.owner AND p.lease_until > now()
                               WHERE o.account_id = c.account_id AND o.status = 'running' AND o.id <> c.id)
            ORDER BY c.id LIMIT 1 FOR UPDATE OF a, b, c SKIP LOCKED)
    RETURNING {columns(field_names(ClaimedReport), "r")}
"""


async def claim(db: DB, owner: UUID, in_flight: Sequence[int] = ()) -> ClaimedReport | None:
    """Claim the next report that no live process works on. None if there is none.

    `owner`: this process. `in_flight`: the ids of the reports that this process is working on now. A report that
    `owner` has claimed but is not working on can be claimed again, because the connection may have failed just after
    the first claim.
    """
    row = await db.fetchrow(CLAIM, owner, in_flight)
    return row and _claimed(row)


OWNED = "id = $1 AND owner = $2 AND epoch = $3 AND status = 'running'"

LEAVE = f"UPDATE report SET owner = NULL, status = 'pending' WHERE {OWNED}"


async def leave(db: DB, report: ClaimedReport, owner: UUID) -> None:
    """Release the report, so that any process can claim it."""
    await db.execute(LEAVE, report.id, owner, report.epoch)


LOCK_OWNED = f"SELECT done FROM report WHERE {OWNED} FOR UPDATE"


async def lock_owned(connection: Connection, report: ClaimedReport, owner: UUID) -> int | None:
    """Lock the report until the transaction ends, and keep its book from being deleted.

    Returns how many of the report's chapters are finished; None if `owner` no longer has the report.
    """
    await books.lock_against_deletion(connection, report.book_id)
    done: int | None = await connection.fetchval(LOCK_OWNED, report.id, owner, report.epoch)
    return done


ADVANCE = "UPDATE report SET done = $2, unread = unread || $3 WHERE id = $1"


async def advance(connection: Connection, report: ClaimedReport, done: int, unread: Sequence[Unread]) -> None:
    """Store that `done` of the report's chapters are finished. `unread`: chapters that the model could not read."""
    await connection.execute(ADVANCE, report.id, done, list(unread))


FINISH = f"""
    WITH finished AS (
        UPDATE report SET status = $4, failure = $5, completed_at = now(), owner = NULL WHERE {OWNED} RETURNING task
    ), forgotten AS (DELETE FROM step WHERE run_id IN (SELECT task FROM finished))
    SELECT true FROM finished
"""


async def finish(
    connection: Connection,
    report: ClaimedReport,
    owner: UUID,
    status: ReportStatus,
    failure: dict[str, Any] | None = None,
) -> bool:
    """Finish the report with this status. Returns False if `owner` no longer has the report.

    The book is kept from being deleted until the transaction ends. `failure`: why the report failed, if it did.
    """
    await books.lock_against_deletion(connection, report.book_id)
    return bool(await connection.fetchval(FINISH, report.id, owner, report.epoch, status, failure))


FORGET_STEPS = """
    DELETE FROM step
     WHERE run_id = $1 AND NOT EXISTS (SELECT FROM report WHERE id = $2 AND status IN ('pending', 'running'))
"""


async def forget_steps(db: DB, report: ClaimedReport) -> None:
    """Delete stored replies of model calls that arrived after the report was finished or deleted."""
    await db.execute(FORGET_STEPS, report.task, report.id)


RELEASE = "UPDATE report SET owner = NULL, status = 'pending' WHERE owner = $1 AND status = 'running'"


async def release(db: DB, owner: UUID) -> None:
    """Release the reports that this process has not finished."""
    await db.execute(RELEASE, owner)
