"""The names, address and password of an account: changed by its holder, or verified and undone by mailed links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import asyncpg

from bookgen.accounts import history, proof, signup
from bookgen.accounts.blocking import RightsCache
from bookgen.accounts.passwords import Passwords, require_uncommon
from bookgen.accounts.tokens import decode_uid, link_token_hash
from bookgen.errors import InvalidInput, NotFound, must_exist
from bookgen.models import Account, LinkPurpose
from bookgen.store import accounts, addresses, links, mails


class Profiles:
    def __init__(
        self, db: asyncpg.Pool, *, passwords: Passwords, rights: RightsCache, wake_mail: Callable[[], None]
    ) -> None:
        self._db = db
        self._passwords = passwords
        self._rights = rights
        self._wake_mail = wake_mail

    async def find(self, account_id: int) -> Account:
        return must_exist(await accounts.find(self._db, account_id))

    # --- names and address --------------------------------------------------------------------------

    async def update(self, account_id: int, changes: Mapping[str, Any]) -> tuple[Account, str | None]:
        """Change the names or request a new address. Returns the account, and the address that gets a link, if any.

        A new address must meet the rules for registration. It is pending until its owner follows the link. The old
        address gets a link that undoes the change.
        """
        before = await self.find(account_id)
        moves = False
        if changes.get("email", before.email) != before.email:
            email = signup.valid_email(changes["email"])
            moves = email.lower() != before.email.lower()
            changes = {**changes, "email": signup.personal_email(email) if moves else email}
        async with self._db.acquire() as connection, connection.transaction():
            if moves and not await addresses.is_free(connection, account_id, changes["email"]):
                sentence = "An account with this e-mail address already exists."
                raise InvalidInput(sentence, email=[sentence])
            after = await accounts.update_profile(connection, account_id, changes)
            asked = changes["email"] if moves and after.pending_email == changes["email"] else None
            if asked:
                await mails.enqueue(connection, LinkPurpose.VERIFY_EMAIL, asked, account_id)
                await mails.enqueue(connection, LinkPurpose.UNDO_EMAIL, after.email, account_id)
                await history.record(connection, after, "email-asked", email=asked)
        if asked:
            self._wake_mail()
        return after, asked

    async def verify_email(self, uid: str, token: str, holder: int | None = None) -> bool:
        """Whether proving the address has ended the ways in that were set before.

        `holder` is the account signed in where the link was followed.
        """
        if decode_uid(uid) is None:
            raise NotFound
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.VERIFY_EMAIL, uid, token)
            handed_over = await proof.confirm(
                connection, account_id, email, by_holder=holder == account_id, now=datetime.now(UTC)
            )
            if account := await accounts.find(connection, account_id):
                await history.record(
                    connection, account, "email-handed-over" if handed_over else "email-proven", email=email
                )
        self._rights.forget(account_id)
        return handed_over

    async def undo_email(self, uid: str, token: str) -> Account:
        """Undo a change of address. Returns the account, with the address to which the link was mailed."""
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.UNDO_EMAIL, uid, token)
            account = await proof.take_back(connection, account_id, email, link_token_hash(token), datetime.now(UTC))
            await history.record(connection, account, "email-taken-back", email=email)
        self._rights.forget(account_id)
        return account

    # --- password -----------------------------------------------------------------------------------

    async def change_password(self, account_id: int, current: str, new: str) -> None:
        candidate = await accounts.candidate_by_id(self._db, account_id, {})
        account = must_exist(candidate.account)
        if not await self._passwords.verify(current, candidate.password_hash):
            raise InvalidInput(current_password=["This is not your current password."])
        require_uncommon("new_password", new, account.username, account.email)
        password_hash = await self._passwords.hash(new)
        async with self._db.acquire() as connection, connection.transaction():
            await self._set_password(connection, account_id, password_hash)
            await history.record(connection, account, "password-changed", by="the former password")
        self._wake_mail()

    async def forgot_password(self, email: str) -> None:
        """Queue the e-mail without checking whether an account has the address, so that the answer reveals nothing."""
        await mails.enqueue(self._db, LinkPurpose.RESET_PASSWORD, signup.valid_email(email.lower()))
        self._wake_mail()

    async def reset_password(self, uid: str, token: str, new: str) -> None:
        password_hash = await self._passwords.hash(new)
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.RESET_PASSWORD, uid, token)
            account = await proof.prove_own(connection, account_id, email, datetime.now(UTC))
            if account is None:
                raise link_not_good()
            require_uncommon("new_password", new, account.username, account.email)
            await self._set_password(connection, account_id, password_hash)
            await history.record(connection, account, "password-changed", by="a mailed link")
        self._rights.forget(account_id)
        self._wake_mail()

    async def _set_password(self, connection: asyncpg.Connection, account_id: int, password_hash: str) -> None:
        await accounts.set_password(connection, account_id, password_hash)
        await links.void(connection, account_id, LinkPurpose.RESET_PASSWORD)


async def consume(connection: asyncpg.Connection, purpose: LinkPurpose, uid: str, token: str) -> tuple[int, str]:
    """Use up a link. Returns its account and address. A wrong uid gives the same error as a wrong token."""
    account_id = decode_uid(uid)
    email = account_id and await links.consume(connection, account_id, purpose, link_token_hash(token))
    if not account_id or not email:
        raise link_not_good()
    return account_id, email


def link_not_good() -> InvalidInput:
    return InvalidInput(
        "This link has expired or was already used. Request a new one.",
        token=["This link is expired, used or invalid. Request a new one."],
    )
