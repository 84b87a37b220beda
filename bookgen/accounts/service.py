"""Accounts: register, sign in, keep a profile and a password, and know who stands behind a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import asyncpg

from bookgen.accounts import signup
from bookgen.accounts.blocking import Standings
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.signup import Caller
from bookgen.accounts.tokens import TokenPair, Tokens, TokenType, decode_uid, link_token_hash
from bookgen.errors import InvalidCredentials, InvalidInput, NotFound, PermissionDenied, RateLimited, TokenInvalid
from bookgen.models import Account, LinkPurpose
from bookgen.providers.google import GooglePerson, GoogleSignIn
from bookgen.store import accounts, bans, links, mails
from bookgen.store.accounts import NewAccount


@dataclass(frozen=True, slots=True)
class AccountRules:
    registration_open: bool = True
    verification_mandatory: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    username: str
    email: str
    password: str
    first_name: str = ""
    last_name: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes a call."""

    account_id: int
    is_staff: bool


@dataclass(frozen=True, slots=True)
class SignedIn:
    """`session` is the value of the cookie."""

    account: Account
    tokens: TokenPair
    session: str


class Accounts:
    def __init__(
        self,
        db: asyncpg.Pool,
        *,
        tokens: Tokens,
        passwords: Passwords,
        google: GoogleSignIn,
        rules: AccountRules,
        wake_mail: Callable[[], None],
        standings: Standings,
    ) -> None:
        self._db = db
        self._tokens = tokens
        self._passwords = passwords
        self._google = google
        self._rules = rules
        self._wake_mail = wake_mail
        self._standings = standings

    # --- who is calling -----------------------------------------------------------------------------

    async def authenticate(self, token: str) -> Identity:
        return await self._identity(self._tokens.verify(token, TokenType.ACCESS))

    async def authenticate_session(self, cookie: str) -> Identity:
        return await self._identity(self._tokens.verify(cookie, TokenType.SESSION))

    async def refresh(self, token: str) -> TokenPair:
        identity = await self._identity(self._tokens.verify(token, TokenType.REFRESH))
        if self._rules.verification_mandatory:
            self._require_verified(await self.profile(identity.account_id))
        return self._tokens.pair(identity.account_id)

    async def _identity(self, account_id: int) -> Identity:
        standing = await self._standings.of(account_id)
        if standing is None:
            raise TokenInvalid
        if standing.blocked:
            raise PermissionDenied("This account is blocked.")
        return Identity(account_id, standing.is_staff)

    # --- coming in ----------------------------------------------------------------------------------

    async def register(self, form: Registration, caller: Caller) -> tuple[Account, TokenPair | None]:
        """A new account; its tokens come with it unless its address has to be verified first."""
        new = NewAccount(
            username=signup.valid_username(form.username),
            email=signup.personal_email(form.email),
            first_name=form.first_name,
            last_name=form.last_name,
            fingerprint=caller.fingerprint_hash,
        )
        await self._refuse_registration(caller)
        new = replace(new, password_hash=await self._passwords.hash(form.password))
        async with self._db.acquire() as connection, connection.transaction():
            account = await self._create(connection, new, caller)
            await mails.enqueue(connection, LinkPurpose.VERIFY_EMAIL, account.email)
        self._wake_mail()
        return account, None if self._rules.verification_mandatory else self._tokens.pair(account.id)

    async def login(
        self, *, password: str, caller: Caller, email: str | None = None, username: str | None = None
    ) -> SignedIn:
        found = await accounts.credentials(self._db, email=email and email.strip(), username=username)
        password_hash = found.password_hash if found else None
        # Absent or present, the same work is done: the time must not tell which addresses exist.
        right = await self._passwords.verify(password, password_hash)
        if not (right and found and password_hash):
            raise InvalidCredentials
        if self._passwords.outdated(password_hash):
            fresh = await self._passwords.hash(password)
            await accounts.replace_password_hash(self._db, found.account.id, password_hash, fresh)
        return await self._sign_in(found.account, caller)

    async def google(self, access_token: str, caller: Caller) -> SignedIn:
        person = await self._google.identify(access_token)
        account = await self._known(person)
        if account is None:
            try:
                account = await self._create_for(person, caller)
            except InvalidInput:
                # The same person came in twice at once, and the other request was first.
                account = await self._known(person)
                if account is None:
                    raise
        return await self._sign_in(account, caller)

    async def magic_login(self, uid: str, token: str, caller: Caller) -> SignedIn:
        async with self._db.acquire() as connection, connection.transaction():
            account_id = await _consume(connection, LinkPurpose.MAGIC_LOGIN, uid, token)
            account = await accounts.verify_email(connection, account_id)
        return await self._sign_in(account, caller)

    async def _sign_in(self, account: Account, caller: Caller) -> SignedIn:
        if account.blocked:
            raise PermissionDenied("This account is blocked.")
        self._require_verified(account)
        await accounts.record_origin(self._db, account.id, caller.origin)
        return SignedIn(
            account=account,
            tokens=self._tokens.pair(account.id),
            session=self._tokens.sign(TokenType.SESSION, account.id),
        )

    def _require_verified(self, account: Account) -> None:
        if self._rules.verification_mandatory and not account.email_verified:
            raise PermissionDenied("Follow the link in the mail we sent you, then log in.")

    async def _refuse_registration(self, caller: Caller) -> None:
        if not self._rules.registration_open:
            raise PermissionDenied("Registration is closed on this server.")
        if await bans.banned(self._db, caller.origin):
            raise PermissionDenied("Registration is not possible from here.")

    async def _create(self, connection: asyncpg.Connection, new: NewAccount, caller: Caller) -> Account:
        if new.fingerprint:
            await _refuse_third_account(connection, new.fingerprint)
        account = await accounts.create(connection, new)
        await accounts.record_origin(connection, account.id, caller.origin)
        return account

    async def _known(self, person: GooglePerson) -> Account | None:
        """The person's account: the one signed in to before, else the one with the address, linked now."""
        account = await accounts.find_by_google(self._db, person.subject)
        if account is not None:
            return account
        account = await accounts.find_by_email(self._db, person.email)
        if account is None:
            return None
        return await accounts.link_google(self._db, account.id, person.subject, person.avatar_url)

    async def _create_for(self, person: GooglePerson, caller: Caller) -> Account:
        await self._refuse_registration(caller)
        async with self._db.acquire() as connection, connection.transaction():
            new = NewAccount(
                username=await accounts.first_free_username(connection, signup.suggested_usernames(person.email)),
                email=person.email,
                first_name=person.first_name,
                last_name=person.last_name,
                email_verified=True,
                avatar_url=person.avatar_url,
                google_subject=person.subject,
                fingerprint=caller.fingerprint_hash,
            )
            return await self._create(connection, new, caller)

    # --- profile and password -----------------------------------------------------------------------

    async def profile(self, account_id: int) -> Account:
        account = await accounts.find(self._db, account_id)
        if account is None:
            raise NotFound
        return account

    async def update_profile(self, account_id: int, changes: Mapping[str, Any]) -> Account:
        """Change names and address. Another address has to be fit for a new account, and to be verified."""
        before = await self.profile(account_id)
        moves = "email" in changes and changes["email"].lower() != before.email.lower()
        if moves:
            changes = {**changes, "email": signup.personal_email(changes["email"])}
        async with self._db.acquire() as connection, connection.transaction():
            after = await accounts.update_profile(connection, account_id, changes)
            if moves:
                await mails.enqueue(connection, LinkPurpose.VERIFY_EMAIL, after.email)
        if moves:
            self._wake_mail()
        return after

    async def change_password(self, account_id: int, current: str, new: str) -> None:
        found = await accounts.credentials_of(self._db, account_id)
        old_hash = found.password_hash if found else None
        if not await self._passwords.verify(current, old_hash):
            raise InvalidInput(current_password=["This is not your current password."])
        password_hash = await self._passwords.hash(new)
        async with self._db.acquire() as connection, connection.transaction():
            await self._set_password(connection, account_id, password_hash)

    async def forgot_password(self, email: str) -> None:
        """Queue the letter without looking whether anybody has the address: the answer cannot tell."""
        await mails.enqueue(self._db, LinkPurpose.RESET_PASSWORD, signup.valid_email(email.lower()))
        self._wake_mail()

    async def reset_password(self, uid: str, token: str, new: str) -> None:
        password_hash = await self._passwords.hash(new)
        async with self._db.acquire() as connection, connection.transaction():
            account_id = await _consume(connection, LinkPurpose.RESET_PASSWORD, uid, token)
            await accounts.verify_email(connection, account_id)
            await self._set_password(connection, account_id, password_hash)

    async def verify_email(self, uid: str, token: str) -> None:
        if decode_uid(uid) is None:
            raise NotFound
        async with self._db.acquire() as connection, connection.transaction():
            account_id = await _consume(connection, LinkPurpose.VERIFY_EMAIL, uid, token)
            await accounts.verify_email(connection, account_id)

    async def _set_password(self, connection: asyncpg.Connection, account_id: int, password_hash: str) -> None:
        await accounts.set_password(connection, account_id, password_hash)
        await links.void(connection, account_id, LinkPurpose.RESET_PASSWORD)

    # --- blocking -----------------------------------------------------------------------------------

    async def block(self, account_id: int, reason: str) -> None:
        await accounts.block(self._db, account_id, reason)
        self._standings.forget(account_id)


async def _refuse_third_account(connection: asyncpg.Connection, fingerprint: str) -> None:
    if await accounts.count_by_fingerprint(connection, fingerprint) >= signup.FINGERPRINT_ACCOUNTS:
        raise RateLimited(
            "This browser has registered enough accounts.",
            retry_after=signup.FINGERPRINT_RETRY_SECONDS,
            limit=signup.FINGERPRINT_ACCOUNTS,
            remaining=0,
            reset_seconds=signup.FINGERPRINT_RETRY_SECONDS,
            scope="fingerprint",
        )


async def _consume(connection: asyncpg.Connection, purpose: LinkPurpose, uid: str, token: str) -> int:
    """The account whose link this is; a link is good once. A wrong uid looks like a wrong token."""
    account_id = decode_uid(uid)
    if account_id is None or not await links.consume(connection, account_id, purpose, link_token_hash(token)):
        raise InvalidInput("This link has expired or was used already.", token=["Expired, used or not valid."])
    return account_id
