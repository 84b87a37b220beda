"""Deletes an account with everything that belongs to it."""

from __future__ import annotations

from asyncpg import Connection

from bookgen.store import slots, subscriptions

LOCK = "SELECT id FROM account WHERE id = $1 FOR UPDATE"
LEAVING = "SELECT set_config('bookgen.leaving', $1, true)"
# The ledger and the wallet are not deleted by a cascade, so that no mistake elsewhere takes them along.
LEDGER = "DELETE FROM credit_transaction WHERE account_id = $1"
LOTS = "DELETE FROM credit_lot WHERE account_id = $1"
WALLET = "DELETE FROM wallet WHERE account_id = $1"
AUDIT = "DELETE FROM audit WHERE account_id = $1"
MAILS = """
    DELETE FROM mail
     WHERE account_id = $1
        OR folded_address(email) = (SELECT email_key FROM account WHERE id = $1)
"""
ACCOUNT = "DELETE FROM account WHERE id = $1"


async def delete(connection: Connection, account_id: int) -> None:
    """Delete the account with its books, money, history and queued e-mails, in one transaction.

    The cost of its model calls stays in the server's ledger, without the account.
    """
    await connection.execute(LOCK, account_id)
    await slots.lock(connection, account_id)
    await subscriptions.lock(connection, account_id)
    await connection.execute(LEAVING, str(account_id))
    for statement in (LEDGER, LOTS, WALLET, AUDIT, MAILS, ACCOUNT):
        await connection.execute(statement, account_id)
