"""What follows when somebody proves that an e-mail address is theirs, by a mailed link or by Google's word.

Whoever made an account with somebody else's address, or gave it one, must keep no way into it once the owner of the
address comes: the password, the Google link and the tokens that were there before end.
"""

from __future__ import annotations

from datetime import datetime

from asyncpg import Connection

from bookgen.billing import guests
from bookgen.models import Account, LinkPurpose
from bookgen.store import accounts, addresses, links, payments


async def prove_own(connection: Connection, account_id: int, email: str, now: datetime) -> Account | None:
    """The account in the hands of whoever has proven its address; None when it has left that address meanwhile."""
    account, has_it = await addresses.lock(connection, account_id, email)
    if not has_it:
        return None
    if account.email_verified:
        return account
    return await _hand_over(connection, account_id, account.email, now)


async def confirm(connection: Connection, account_id: int, email: str, *, by_holder: bool, now: datetime) -> bool:
    """Whether the account was handed over to whoever followed the link that verifies an address.

    The link of a registration confirms what was registered, unless a purchase waits for the owner of the address.
    One of another address does so only where its follower is signed in to the account; else it may be a stranger to
    it, who proves the address all the same.
    """
    account, has_it = await addresses.lock(connection, account_id, email)
    if has_it:
        email = account.email
        by_holder = by_holder or account.email_verified or not await payments.waiting_for(connection, email)
    else:
        await addresses.reserve(connection, account_id)
    if by_holder:
        account = await addresses.confirm(connection, account_id, email)
        await guests.give_waiting(connection, account, now)
        return False
    await _hand_over(connection, account_id, email, now)
    return True


async def take_back(connection: Connection, account_id: int, email: str, token_hash: bytes, now: datetime) -> Account:
    """The account back at the address that it left or was about to leave, without any of its tokens.

    `token_hash` is of the link that was followed; those mailed after it went to whoever the change was made for.
    """
    account, has_it = await addresses.lock(connection, account_id, email)
    await links.void_later(connection, account_id, LinkPurpose.UNDO_EMAIL, token_hash)
    if not has_it:
        return await _hand_over(connection, account_id, email, now)
    await addresses.forget_pending(connection, account_id)
    await accounts.end_tokens(connection, account_id, now)
    return account


async def _hand_over(connection: Connection, account_id: int, email: str, now: datetime) -> Account:
    account = await addresses.hand_over(connection, account_id, email, now)
    await guests.give_waiting(connection, account, now)
    return account
