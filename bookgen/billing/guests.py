"""Purchases by buyers who are not signed in (guests).

A purchase goes to the account that has verified the buyer's e-mail address. If no account has the address, a new one is
created. Otherwise the purchase waits until the address is verified.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from asyncpg import Connection

from bookgen.billing import credits
from bookgen.errors import InvalidInput
from bookgen.models import Account, LinkPurpose, Notice
from bookgen.store import accounts, addresses, mails, payments, subscriptions
from bookgen.store.accounts import NewAccount

MAX_NAMES = 9  # usernames tried for one new account


async def account_for(connection: Connection, email: str) -> tuple[int | None, bool]:
    """The id of the account for a guest with this address, and whether the account was created just now.

    The id is None if an account has the address but has not verified it, or had the address and can still undo its
    change. Paying gives the guest no access to the account: `tell` mails a sign-in link to the address.
    """
    for username in islice(accounts.suggested_usernames(email), MAX_NAMES):
        known = await addresses.lock_holder(connection, email)
        if known:
            account, unproven = known
            return None if unproven else account.id, False
        try:
            async with connection.transaction():
                created = await accounts.create(connection, NewAccount(username=username, email=email))
        except InvalidInput:  # the name or the address has just been taken
            continue
        return created.id, True
    return None, False  # another account has changed its address and can still undo that


async def tell(connection: Connection, email: str, account_id: int | None, bought: str, *, new: bool) -> None:
    """Mail the guest a receipt, or a sign-in link that verifies the address, or both.

    A new account gets the link only, and a verified account the receipt only. `account_id`, `new`: from `account_for`.
    `bought`: what was bought, in words.
    """
    if new or account_id is None:
        await mails.enqueue(connection, LinkPurpose.MAGIC_LOGIN, email, bought=bought)
    if not new:
        await mails.enqueue(connection, Notice.RECEIPT, email, account_id, bought=bought)


async def give_waiting(connection: Connection, account: Account, now: datetime) -> None:
    """Grant what guests have bought for the address that the account has just verified."""
    waiting = await payments.waiting_for(connection, account.email)
    if not waiting:
        return
    await subscriptions.lock(connection, account.id)
    for purchase in waiting:
        await payments.give(connection, purchase.id, account.id)
        await credits.grant_purchase(connection, account.id, purchase)
    await credits.settle(connection, account.id, now)
