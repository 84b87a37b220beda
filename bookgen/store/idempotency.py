"""The requests that an account has sent with an `Idempotency-Key`, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from bookgen.store.rows import mapper

if TYPE_CHECKING:
    from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with a key. `request` is the hash of its method, path and body; `owner` the process that handles it."""

    account_id: int
    key: str
    request: bytes
    owner: UUID


@dataclass(frozen=True, slots=True)
class KeyedAnswer:
    """The row that is stored under a key. `request`: the hash of the request that took the key.

    `status`: the HTTP status of its answer; None while that request is still in progress.
    """

    request: bytes
    status: int | None
    answer: bytes | None
    book_id: int | None


_answer_of = mapper(KeyedAnswer)

# A key is free again after a day. If its request has no answer, the key is free when the process that handles the
# request has died, or after an hour: then the answer could not be stored.
CLAIM = """
    INSERT INTO idempotency_key AS k (account_id, key, request, owner)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, key) DO UPDATE
       SET request = EXCLUDED.request, owner = EXCLUDED.owner, started_at = now(),
           status = NULL, answer = NULL, book_id = NULL
     WHERE k.started_at < now() - interval '24 hours'
        OR k.status IS NULL
           AND (k.started_at < now() - interval '1 hour'
                OR NOT EXISTS (SELECT FROM process p WHERE p.boot_id = k.owner AND p.lease_until > now()))
    RETURNING true
"""
FIND = "SELECT request, status, answer, book_id FROM idempotency_key WHERE account_id = $1 AND key = $2"


async def claim(db: DB, keyed: KeyedRequest) -> KeyedAnswer | None:
    """Take the key for this request and return None. If an earlier request has the key, return its row instead.

    A key is free again after a day. If its request got no answer, it is free after an hour, or as soon as the process
    that handled the request has died.
    """
    while not await db.fetchval(CLAIM, keyed.account_id, keyed.key, keyed.request, keyed.owner):
        if row := await db.fetchrow(FIND, keyed.account_id, keyed.key):
            return _answer_of(row)
    return None


KEEP = """
    UPDATE idempotency_key SET status = $5, answer = $6, book_id = $7
     WHERE account_id = $1 AND key = $2 AND request = $3 AND owner = $4
"""


async def keep(db: DB, keyed: KeyedRequest, status: int, answer: bytes | None, book_id: int | None) -> None:
    """Store the answer under the key. `answer` is None if the answer is too large to store.

    A repetition of the request then gets the book `book_id` as its answer.
    """
    await db.execute(KEEP, keyed.account_id, keyed.key, keyed.request, keyed.owner, status, answer, book_id)


RELEASE = """
    DELETE FROM idempotency_key
     WHERE account_id = $1 AND key = $2 AND request = $3 AND owner = $4 AND status IS NULL
"""


async def release(db: DB, keyed: KeyedRequest) -> None:
    """Free the key of a request that failed."""
    await db.execute(RELEASE, keyed.account_id, keyed.key, keyed.request, keyed.owner)
