"""The database enforces the ledger: it is append-only, and its sum is the balance."""

from __future__ import annotations

import asyncpg
import pytest

from bookgen.billing import credits
from bookgen.models import CreditKind
from bookgen.store import credits as ledger


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
async def test_no_statement_can_change_the_balance_without_the_ledger(pool, owner, change):
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await pool.execute(change)

    row = await pool.fetchrow("SELECT balance, (SELECT sum(amount) FROM credit_transaction) AS ledger FROM wallet")
    assert tuple(row) == (3, 3)


async def test_the_database_refuses_a_hold_on_another_accounts_credit(pool, owner, make_account, make_book):
    stranger = await make_account()
    book = await make_book(stranger)
    lot = await pool.fetchval("SELECT id FROM credit_lot")

    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await pool.execute(
            "INSERT INTO hold (account_id, book_id, run_id, source, lot_id, period_start, period_end)"
            " VALUES ($1, $2, gen_random_uuid(), 'credits', $3, now(), now() + interval '1 month')",
            stranger,
            book,
            lot,
        )


async def test_reading_an_existing_wallet_writes_nothing(pool, owner):
    async with pool.acquire() as connection, connection.transaction(readonly=True):
        assert (await ledger.wallet(connection, owner)).balance == 3
