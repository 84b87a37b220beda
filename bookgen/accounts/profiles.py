"""Changes the names, address and password of an account.

The owner requests a change. Mailed links verify, approve or undo a change of address, or set a new password.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import asyncpg

from bookgen.accounts import history, proof, signup
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.proof import Proof
from bookgen.accounts.rights import RightsCache
from bookgen.accounts.tokens import decode_uid, link_token_hash
from bookgen.errors import InvalidInput, NotFound, must_exist
from bookgen.models import Account, LinkPurpose
from bookgen.store import accounts, addresses, links, mails

MAX_SIGN_IN_AGE_SECONDS = 300  # after a sign-in, in which an account without a password may be deleted


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

    async def update(
        self, account_id: int, changes: Mapping[str, Any], password: str | None = None
    ) -> tuple[Account, list[str]]:
        """Change names and request a new address. Returns the account and the addresses whose links must be followed.

        A new address must satisfy the rules for new accounts. The change is pending until someone follows the link
        mailed to the new address. If the old address is verified and `password` is None, the link mailed to the old
        address must be followed too. The old address also gets a link that undoes the change.

        Raises InvalidInput if `password` is wrong, or if the new address is taken or not accepted.
        """
        before = await self.find(account_id)
        moves = False
        if changes.get("email", before.email) != before.email:
            email = signup.valid_email(changes["email"])
            moves = email.lower() != before.email.lower()
            changes = {**changes, "email": signup.personal_email(email) if moves else email}
        if password is not None:
            await self._require_password(account_id, password)
        async with self._db.acquire() as connection, connection.transaction():
            if moves and not await addresses.is_free(connection, account_id, changes["email"]):
                sentence = "An account with this e-mail address already exists."
                raise InvalidInput(sentence, email=[sentence])
            approved = password is not None
            after = await accounts.update_profile(connection, account_id, changes, approved=approved)
            if not moves or after.pending_email != changes["email"]:
                return after, []
            to_follow = [changes["email"]] if approved or not after.email_verified else [changes["email"], after.email]
            await self._announce(connection, after, changes["email"], to_approve=len(to_follow) > 1)
        self._wake_mail()
        return after, to_follow

    async def _announce(
        self, connection: asyncpg.Connection, account: Account, asked: str, *, to_approve: bool
    ) -> None:
        """Mail the links for a change to the requested address `asked`, and record the request in the audit log.

        `to_approve`: also mail a link to the old address that approves the change.
        """
        await mails.enqueue(connection, LinkPurpose.VERIFY_EMAIL, asked, account.id, change="yes")
        if to_approve:
            await mails.enqueue(connection, LinkPurpose.APPROVE_EMAIL, account.email, account.id, asked=asked)
        await mails.enqueue(connection, LinkPurpose.UNDO_EMAIL, account.email, account.id)
        await history.record(connection, account, "email-asked", email=asked)

    async def verify_email(self, uid: str, token: str, holder: int | None = None) -> tuple[Proof, Account]:
        """Verify an address by the link that was mailed to it. Returns the effect on the account, and the account.

        `holder`: the id of the account whose token came with the request, if any.
        """
        if decode_uid(uid) is None:
            raise NotFound(
                "This link is not valid. Open the one we e-mailed you, or request another (PATCH /auth/profile/)."
            )
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.VERIFY_EMAIL, uid, token)
            outcome = await proof.confirm(
                connection, account_id, email, by_holder=holder == account_id, now=datetime.now(UTC)
            )
            account = must_exist(await accounts.find(connection, account_id))
            action = "email-handed-over" if outcome is Proof.HANDED_OVER else "email-proven"
            await history.record(connection, account, action, email=email)
        self._rights.forget(account_id)
        return outcome, account

    async def resend_verification(self, email: str) -> None:
        """Queue another verification e-mail. It is sent only if an account has this address and has not verified it."""
        await self._request_letter(LinkPurpose.VERIFY_EMAIL, email)

    async def approve_email(self, uid: str, token: str, holder: int | None) -> tuple[Proof, Account]:
        """Approve a change of address by the link mailed to the old address. Returns the effect and the account.

        `holder`: the id of the account whose token came with the request, if any.
        """
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.APPROVE_EMAIL, uid, token)
            outcome = await proof.approve(
                connection, account_id, email, by_holder=holder == account_id, now=datetime.now(UTC)
            )
            account = must_exist(await accounts.find(connection, account_id))
            await history.record(connection, account, "email-approved", email=email)
        return outcome, account

    async def undo_email(self, uid: str, token: str) -> Account:
        """Undo a change of address by the link mailed to the old address. Returns the account with its old address."""
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.UNDO_EMAIL, uid, token)
            account = await proof.take_back(connection, account_id, email, link_token_hash(token), datetime.now(UTC))
            await history.record(connection, account, "email-taken-back", email=email)
        self._rights.forget(account_id)
        return account

    # --- password -----------------------------------------------------------------------------------

    async def change_password(self, account_id: int, current: str, new: str) -> None:
        account = await self._require_password(account_id, current)
        await self._passwords.require_strong("new_password", new, account.username, account.email, known=True)
        password_hash = await self._passwords.hash(new, known=True)
        async with self._db.acquire() as connection, connection.transaction():
            await self._set_password(connection, account_id, password_hash)
            await history.record(connection, account, "password-changed", by="the former password")
        self._wake_mail()

    async def require_may_delete(self, account_id: int, password: str | None, signed_in_at: float) -> None:
        """Raise InvalidInput unless the owner has confirmed that the account is to be deleted.

        An account with a password requires `password`. An account without one requires a sign-in (`signed_in_at`)
        within the last MAX_SIGN_IN_AGE_SECONDS.
        """
        candidate = await accounts.candidate_by_id(self._db, account_id, {})
        if candidate.password_hash is not None:
            if password is None:
                raise InvalidInput(current_password=["Send the current password of your account."])
            await self._require_password(account_id, password)
        elif signed_in_at < datetime.now(UTC).timestamp() - MAX_SIGN_IN_AGE_SECONDS:
            raise InvalidInput(
                current_password=[
                    "This account has no password. Sign in again with Google, then delete the account within five "
                    "minutes."
                ]
            )

    async def forgot_password(self, email: str) -> None:
        """Queue an e-mail with a link that sets a new password. It is sent only if an account has this address."""
        await self._request_letter(LinkPurpose.RESET_PASSWORD, email)

    async def can_reset(self, uid: str, token: str) -> bool:
        """Whether the mailed link can still set a password. Does not use up the link."""
        account_id = decode_uid(uid)
        if account_id is None:
            return False
        return await links.is_valid(self._db, account_id, LinkPurpose.RESET_PASSWORD, link_token_hash(token))

    async def reset_password(self, uid: str, token: str, new: str) -> None:
        """Set a password by a mailed link. All tokens become invalid, because a stranger may have used the account."""
        password_hash = await self._passwords.hash(new)
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.RESET_PASSWORD, uid, token)
            now = datetime.now(UTC)
            account = await proof.prove_own(connection, account_id, email, now)
            if account is None:
                raise link_not_good()
            await self._passwords.require_strong("new_password", new, account.username, account.email)
            await self._set_password(connection, account_id, password_hash)
            await accounts.end_tokens(connection, account_id, now)
            await history.record(connection, account, "password-changed", by="a mailed link")
        self._rights.forget(account_id)
        self._wake_mail()

    async def _request_letter(self, purpose: LinkPurpose, email: str) -> None:
        """Queue an e-mail without checking that an account has the address, so that the response reveals nothing."""
        await mails.enqueue(self._db, purpose, signup.valid_email(email.lower()))
        self._wake_mail()

    async def _require_password(self, account_id: int, password: str) -> Account:
        """The account, if `password` is its password. Otherwise raises InvalidInput."""
        candidate = await accounts.candidate_by_id(self._db, account_id, {})
        if not await self._passwords.verify(password, candidate.password_hash, known=True):
            raise InvalidInput(current_password=["This is not your current password."])
        return must_exist(candidate.account)

    async def _set_password(self, connection: asyncpg.Connection, account_id: int, password_hash: str) -> None:
        await accounts.set_password(connection, account_id, password_hash)
        await links.void(connection, account_id, LinkPurpose.RESET_PASSWORD)


async def consume(connection: asyncpg.Connection, purpose: LinkPurpose, uid: str, token: str) -> tuple[int, str]:
    """Use up a mailed link. Returns the id of its account, and the e-mail address that the link verifies or restores.

    Raises InvalidInput if the link is invalid, has expired or was used before.
    """
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
