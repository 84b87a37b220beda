"""The database itself keeps the ledger: append-only, and its sum is the balance."""

from __future__ import annotations

import asyncpg
import pytest

from bookgen.billing import credits
from bookgen.models import CreditKind


@pytest.fixture
async def owner(pool, make_account):
    account = await make_account()
    async with pool.acquire() as connection, connection.transaction():
        await credits.grant(connection, account, 3, 50_000, CreditKind.BONUS, "Welcome")
    return account


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE wallet SET balance = balance + 1",
        "UPDATE credit_lot SET remaining = remaining - 1",
        "DELETE FROM wallet",
        "UPDATE credit_transaction SET amount = 4",
        "DELETE FROM credit_transaction",
        "TRUNCATE credit_transaction CASCADE",
        """INSERT INTO credit_transaction (account_id, lot_id, kind, amount, balance_after)
           SELECT account_id, id, 'bonus', 5, 8 FROM credit_lot""",
        """INSERT INTO credit_lot (account_id, credits, remaining, words_per_book)
           SELECT account_id, 5, 5, 9 FROM wallet""",
        """WITH moved AS (UPDATE wallet SET balance = 8)
           INSERT INTO credit_lot (account_id, credits, remaining, words_per_book)
           SELECT account_id, 5, 5, 9 FROM wallet""",
    ],
)
async def test_no_statement_parts_the_balance_from_the_ledger(pool, owner, change):
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await pool.execute(change)

    row = await pool.fetchrow("SELECT balance, (SELECT sum(amount) FROM credit_transaction) AS ledger FROM wallet")
    assert tuple(row) == (3, 3)
