"""The effects of verifying an e-mail address, by a mailed link or by Google.

Once the owner of an address verifies it, whoever registered it before must have no access to the account. A link that
changes an account's address, on the other hand, works only for the owner of that account. Otherwise a stranger who has
the new address could open the link and use the account, and its owner could take it back at any time.
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

    None: the account has another address by now. Handing it over verifies the address, and removes the account's
    password, Google link and tokens.
    """
    account, has_it = await addresses.lock(connection, account_id, email)
    if not has_it:
        return None
    if account.email_verified:
        return account
    return await _hand_over(connection, account_id, account.email, now)


async def take_over(connection: Connection, account_id: int, email: str, now: datetime) -> Account | None:
    """Like `prove_own`, but the account is handed over even if the address was verified before."""
    account, has_it = await addresses.lock(connection, account_id, email)
    return await _hand_over(connection, account_id, account.email, now) if has_it else None


async def keep(connection: Connection, account_id: int, email: str, now: datetime) -> Account | None:
    """Mark the account's address as verified; password and tokens stay. None: it has another address by now."""
    account, has_it = await addresses.lock(connection, account_id, email)
    if not has_it:
        return None
    return await _confirm(connection, account_id, account.email, now)


async def confirm(connection: Connection, account_id: int, email: str, *, by_holder: bool, now: datetime) -> Proof:
    """Apply a followed link that verifies `email`: the account's address, or the new address that it has requested.

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
    """Apply a followed link by which the old address agrees to a change to `email`.

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

    If the address was unverified and the request had no token of the account (`by_holder`), all tokens end, because a
    stranger may have registered the address. If a guest's purchase waits for this address, the password ends too:
    otherwise whoever set it could spend the purchase.
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
    """Undo a change of address: the account has `email` again, and all its tokens end. Returns the account.

    If the change had taken effect, its password and Google link are removed too. `token_hash`: the hash of the followed
    link's token. Later links of this kind become invalid, because they went to addresses of whoever made the change.
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
