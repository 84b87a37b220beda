"""What an operator's command does to books while other processes may write them."""

from __future__ import annotations

import contextlib
from uuid import uuid4

from bookgen.actors.messages import Abandon
from bookgen.actors.resources import OperatorProcess
from bookgen.actors.transaction import Transactions
from bookgen.billing.quota import Quota
from bookgen.errors import NotFound
from bookgen.store import books
from bookgen.store.database import Database


async def delete_books(database: Database, quota: Quota, account_id: int) -> None:
    """Delete every book of the account with its run. A process that writes one cancels its call."""
    transactions = Transactions(OperatorProcess(database.runs, quota))
    for book in await books.titles(database.http, account_id):
        with contextlib.suppress(NotFound):  # deleted by somebody else meanwhile
            await transactions.steer(account_id, book["id"], Abandon(), uuid4())
            await transactions.delete_book(account_id, book["id"])
