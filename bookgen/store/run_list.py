"""The operator's list of runs: the newest run of each book, over all accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asyncpg import Record

from bookgen.models import Run, RunStatus
from bookgen.store.database import DB
from bookgen.store.runs import run_of


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run with its book's title, its account's address and its place in the account's queue."""

    run: Run
    title: str
    email: str
    place: int


COLUMNS = """
    r.*, b.title, a.email,
    (SELECT count(*) FROM run q
      WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place
"""

IN_STATES = f"""
    SELECT {COLUMNS}
      FROM run r JOIN book b ON b.id = r.book_id JOIN account a ON a.id = r.account_id
     WHERE r.status = ANY($1::text[])
       AND NOT EXISTS (SELECT FROM run newer WHERE newer.book_id = r.book_id AND newer.queue_seq > r.queue_seq)
     ORDER BY r.queue_seq
"""


async def in_states(db: DB, statuses: Sequence[RunStatus]) -> list[ListedRun]:
    """The newest run of each book, if that run is in one of these states. Sorted in the order of the queue."""
    return [_listed(row) for row in await db.fetch(IN_STATES, list(statuses))]


BY_ID = f"""
    SELECT {COLUMNS}
      FROM run r JOIN book b ON b.id = r.book_id JOIN account a ON a.id = r.account_id
     WHERE starts_with(r.id::text, $1)
     ORDER BY r.queue_seq
     LIMIT 2
"""


async def by_id(db: DB, beginning: str) -> list[ListedRun]:
    """Up to two runs whose id starts with `beginning`. Two mean that `beginning` is ambiguous."""
    return [_listed(row) for row in await db.fetch(BY_ID, beginning)]


OF_OTHERS = """
    SELECT writer, count(*) AS runs FROM run
     WHERE status IN ('queued', 'running', 'paused') AND writer NOT IN ('offline', $1)
     GROUP BY writer ORDER BY writer
"""


async def of_other_models(db: DB, writer: str) -> dict[str, int]:
    """How many active runs there are for each model except `writer` and the offline model."""
    return {row["writer"]: row["runs"] for row in await db.fetch(OF_OTHERS, writer)}


def _listed(row: Record) -> ListedRun:
    return ListedRun(run_of(row), row["title"], row["email"], row["place"])
