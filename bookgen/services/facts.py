"""An author's decisions about the facts of a story: a corrected value, or a status.

The status `intended` means that the story contradicts the fact on purpose. `wrong` means that the fact is not true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bookgen.errors import Conflict, must_exist
from bookgen.models import Fact, FactStatus
from bookgen.store import books, facts

if TYPE_CHECKING:
    from asyncpg import Connection

CHANGED = (
    "This fact has changed since you read it. Read it again (GET /books/{id}/facts/{fact_id}/), then send your change."
)


async def decide(
    connection: Connection,
    account_id: int,
    book_id: int,
    fact_id: int,
    sent: Mapping[str, Any],
    is_as_read: Callable[[Fact], bool],
) -> Fact:
    """Store the author's decision (`value`, `status` and `reason` in `sent`) in one transaction. Returns the new fact.

    `is_as_read`: whether the fact still has the version that the author has read. If not, raises Conflict. Raises
    NotFound if the book or the fact does not exist.
    """
    async with connection.transaction():
        must_exist(await books.lock(connection, account_id, book_id))
        fact = must_exist(await facts.find(connection, account_id, book_id, fact_id), "fact of this book")
        if not is_as_read(fact):
            raise Conflict(CHANGED)
        status = FactStatus(sent["status"]) if sent.get("status") else None
        await facts.decide(connection, fact_id, sent.get("value"), status, sent.get("reason"))
        return must_exist(await facts.find(connection, account_id, book_id, fact_id), "fact of this book")
