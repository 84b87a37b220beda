"""What happens to an account when someone verifies an e-mail address, by a mailed link or by Google.

Anyone can register an account with another person's address. When the owner of the address verifies it, whoever
registered the account must lose access. A link that changes an account's address is different: it works only for a
caller with a token of that account. Otherwise the owner of the new address could open the link and use the account, and
the account's owner could take it back at any time.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto

from asyncpg import Connection

from bookgen.billing import guests
from bookgen.errors import AuthenticationRequired
from bookgen.models import Account, LinkPurpose
from bookgen.store import accounts, addresses, links, payments


class Proof(Enum):
    """What verifying an address did to the account."""

    DONE = auto()  # passwords and tokens stay
    TOKENS_ENDED = auto()  # the password stays
    HANDED_OVER = auto()  # all former ways to sign in have ended
    UNAPPROVED = auto()  # the change still waits for the link mailed to the old address
    UNPROVEN = auto()  # the change still waits for the link mailed to the new address


async def prove_own(connection: Connection, account_id: int, email: str, now: datetime) -> Account | None:
    """Hand the account over to the owner of `email`, unless the address was verified before. Returns the account.

    Handing over verifies the address, and removes the account's password, Google link and tokens. Returns None if the
    account no longer has this address.
    """
    account, has_it = await addresses.lock(connection, account_id, email)
    if not has_it:
        return None
    if account.email_verified:
        return account
    return await _hand_over(connection, account_id, account.email, now)


async def take_over(connection: Connection, account_id: int, email: str, now: datetime) -> Account | None:
    """Like `prove_own`, but hand the account over even if the address was verified before."""
    account, has_it = await addresses.lock(connection, account_id, email)
    return await _hand_over(connection, account_id, account.email, now) if has_it else None


async def keep(connection: Connection, account_id: int, email: str, now: datetime) -> Account | None:
    """Mark the account's address as verified; password and tokens stay. None: the account has another address now."""
    account, has_it = await addresses.lock(connection, account_id, email)
    if not has_it:
        return None
    return await _confirm(connection, account_id, account.email, now)


async def confirm(connection: Connection, account_id: int, email: str, *, by_holder: bool, now: datetime) -> Proof:
    """Verify `email`, which is the account's address or a new address that it has requested.

    `by_holder`: the request had a token of the account. A new address requires such a token; without it,
    AuthenticationRequired is raised.
    """
    account, has_it = await addresses.lock(connection, account_id, email)
    if has_it:
        return await _confirm_own(connection, account, by_holder=by_holder, now=now)
    if not by_holder:
        raise AuthenticationRequired
    if not await addresses.prove_pending(connection, account_id):
        return Proof.UNAPPROVED
    return await _move(connection, account_id, email, now)


async def approve(connection: Connection, account_id: int, email: str, *, by_holder: bool, now: datetime) -> Proof:
    """Record that the old address approves the change to `email`. Change the address if `email` is verified already.

    Raises AuthenticationRequired unless `by_holder`: the request had a token of the account.
    """
    if not by_holder:
        raise AuthenticationRequired
    await addresses.lock(connection, account_id, email)
    if not await addresses.approve_pending(connection, account_id):
        return Proof.UNPROVEN
    return await _move(connection, account_id, email, now)


async def _confirm_own(connection: Connection, account: Account, *, by_holder: bool, now: datetime) -> Proof:
    """Mark the account's own address as verified. If it was verified before, nothing else changes.

    An unverified address may have been registered by a stranger. So if the request had no token of the account
    (`by_holder` is False), all tokens become invalid. If a guest's purchase waits for this address, the password is
    removed too: otherwise the stranger could spend the purchase.
    """
    if by_holder or account.email_verified:
        await _confirm(connection, account.id, account.email, now)
        return Proof.DONE
    if await payments.waiting_for(connection, account.email):
        await _hand_over(connection, account.id, account.email, now)
        return Proof.HANDED_OVER
    await _confirm(connection, account.id, account.email, now)
    await accounts.end_tokens(connection, account.id, now)
    return Proof.TOKENS_ENDED


async def _move(connection: Connection, account_id: int, email: str, now: datetime) -> Proof:
    """Give the account its requested address. The old address stays reserved for the account."""
    await addresses.reserve(connection, account_id)
    await _confirm(connection, account_id, email, now)
    return Proof.DONE


async def take_back(connection: Connection, account_id: int, email: str, token_hash: bytes, now: datetime) -> Account:
    """Undo a change of address, end all tokens of the account, and return the account, which has `email` again.

    If the change had already taken effect, the account's password and Google link are removed too. `token_hash`: the
    hash of the undo link's token. Undo links that were sent after it become invalid, because they went to addresses of
    whoever made the change.
    """
    account, has_it = await addresses.lock(connection, account_id, email)
    await links.void_later(connection, account_id, LinkPurpose.UNDO_EMAIL, token_hash)
    if not has_it:
        return await _hand_over(connection, account_id, email, now)
    await addresses.forget_pending(connection, account_id)
    await accounts.end_tokens(connection, account_id, now)
    return account


async def _confirm(connection: Connection, account_id: int, email: str, now: datetime) -> Account:
    account = await addresses.confirm(connection, account_id, email)
    await guests.give_waiting(connection, account, now)
    return account


async def _hand_over(connection: Connection, account_id: int, email: str, now: datetime) -> Account:
    account = await addresses.hand_over(connection, account_id, email, now)
    await guests.give_waiting(connection, account, now)
    return account
