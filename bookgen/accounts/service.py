"""Registration, sign-in by password, Google or mailed link, and the account behind a token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import asyncpg

from bookgen.accounts import history, proof, signup
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.profiles import Profiles, consume, link_not_good
from bookgen.accounts.rights import RightsCache
from bookgen.accounts.signup import Caller
from bookgen.accounts.tokens import Claims, TokenPair, Tokens, TokenType
from bookgen.billing import guests
from bookgen.errors import (
    InvalidCredentials,
    InvalidInput,
    PermissionDenied,
    RateLimited,
    TokenInvalid,
    Unauthenticated,
)
from bookgen.models import Account, LinkPurpose
from bookgen.providers.google import GooglePerson, GoogleSignIn
from bookgen.store import accounts, addresses, bans, mails
from bookgen.store.accounts import LoginCandidate, NewAccount


@dataclass(frozen=True, slots=True)
class Registration:
    username: str
    email: str
    password: str
    first_name: str = ""
    last_name: str = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A completed sign-in. `session` is the value of the session cookie."""

    account: Account
    tokens: TokenPair
    session: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to sign in by password. `began`: Unix time, taken before the account was read."""

    began: float
    candidate: LoginCandidate


class Accounts:
    def __init__(
        self,
        db: asyncpg.Pool,
        *,
        tokens: Tokens,
        passwords: Passwords,
        google: GoogleSignIn,
        registration_open: bool,
        verification_mandatory: bool,
        guards_spending: bool,
        wake_mail: Callable[[], None],
        rights: RightsCache,
    ) -> None:
        self._db = db
        self._tokens = tokens
        self._passwords = passwords
        self._google = google
        self._registration_open = registration_open
        self._verification_mandatory = verification_mandatory
        self._guards_spending = guards_spending
        self._wake_mail = wake_mail
        self._rights = rights
        self.profiles = Profiles(db, passwords=passwords, rights=rights, wake_mail=wake_mail)

    # --- who is calling -----------------------------------------------------------------------------

    async def authenticate(self, token: str) -> int:
        """The id of the account to which an access token belongs."""
        return await self._entitled(self._tokens.verify(token, TokenType.ACCESS))

    async def authenticate_session(self, cookie: str) -> int:
        return await self._entitled(self._tokens.verify(cookie, TokenType.SESSION))

    def signed_in_at(self, token: str) -> float:
        """When the user signed in to get this access token, as Unix time. Refreshing a token does not change it.

        Raises TokenInvalid or TokenExpired.
        """
        return self._tokens.verify(token, TokenType.ACCESS).signed_in_at

    async def holder(self, access: str) -> int | None:
        """The id of the access token's account; None if the token is invalid or the account is blocked."""
        try:
            return await self.authenticate(access)
        except (Unauthenticated, PermissionDenied):
            return None

    async def refresh(self, token: str) -> TokenPair:
        claims = self._tokens.verify(token, TokenType.REFRESH)
        account_id = await self._entitled(claims)
        if self._verification_mandatory:
            account = await accounts.find(self._db, account_id)
            if account is None:
                raise TokenInvalid
            self._require_verified(account)
        return self._tokens.pair(account_id, claims.signed_in_at)

    async def _entitled(self, claims: Claims) -> int:
        """The account id in the claims, if the token is still valid for this account.

        Raises TokenInvalid if there is no such account or its tokens were ended after this sign-in, and
        PermissionDenied if the account is blocked.
        """
        rights = await self._rights.of(claims.account_id)
        # A refreshed token keeps the time of its sign-in, so that ending all tokens also ends it.
        if rights is None or claims.signed_in_at < rights.tokens_valid_from.timestamp():
            raise TokenInvalid
        if rights.blocked:
            raise PermissionDenied("This account is blocked. Contact the operator of this service.")
        return claims.account_id

    async def require_staff(self, account_id: int) -> None:
        """Raise PermissionDenied if the account is not staff right now (read from the database, not from the cache)."""
        rights = await accounts.rights(self._db, account_id)
        if rights is None or not rights.is_staff:
            raise PermissionDenied("Only staff can do this.")

    async def require_proven(self, account_id: int) -> None:
        """Raise PermissionDenied if this server protects its spending on model calls and the account is not proven.

        An account is proven by a verified address or a payment, for example; `accounts.is_proven` has all cases.
        """
        if self._guards_spending and not await accounts.is_proven(self._db, account_id):
            raise PermissionDenied(
                "Verify your e-mail address first: follow the link we e-mailed you, then try again. You can request "
                "another e-mail in your account (POST /auth/resend-verification/)."
            )

    # --- registration and sign-in -------------------------------------------------------------------

    async def register(self, form: Registration, caller: Caller) -> tuple[Account, TokenPair | None]:
        """Create an account. Also returns its tokens, or None if its address must be verified first."""
        email = signup.personal_email(form.email)
        await self._passwords.require_strong("password", form.password, form.username, email)
        new = NewAccount(
            username=signup.valid_username(form.username, email),
            email=email,
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
        return account, None if self._verification_mandatory else self._tokens.pair(account.id)

    async def attempt(self, *, email: str | None, username: str | None, caller: Caller) -> Attempt:
        """Find the account whose password is to be checked, by `email` or, if that is None, by `username`."""
        began = self._tokens.now()
        if email is not None:
            return Attempt(began, await accounts.candidate_by_email(self._db, email.strip(), caller.origin))
        return Attempt(began, await accounts.candidate_by_username(self._db, username or "", caller.origin))

    async def login(self, attempt: Attempt, password: str, caller: Caller) -> SignedIn:
        account, password_hash = attempt.candidate.account, attempt.candidate.password_hash
        known = attempt.candidate.known_origin is not None
        # The work is the same for a missing account, so response times do not reveal which addresses exist.
        right = await self._passwords.verify(password, password_hash, known=known)
        if not (right and account and password_hash):
            raise InvalidCredentials
        if self._passwords.outdated(password_hash):
            fresh = await self._passwords.hash(password, known=True)
            await accounts.replace_password_hash(self._db, account.id, password_hash, fresh)
        return await self._sign_in(account, caller, attempt.began, "password")

    async def google(self, access_token: str, caller: Caller, holder: int | None = None) -> SignedIn:
        """Sign in with a Google access token.

        `holder`: the id of the account whose token came with the request, if any.
        """
        person = await self._google.identify(access_token)
        began = self._tokens.now()
        account = await self._known(person, holder)
        if account is None:
            try:
                account = await self._create_for(person, caller)
            except InvalidInput:
                # A concurrent request of the same person was first.
                account = await self._known(person, holder)
                if account is None:
                    raise
        return await self._sign_in(account, caller, began, "Google")

    async def magic_login(self, uid: str, token: str, caller: Caller) -> SignedIn:
        began = self._tokens.now()
        async with self._db.acquire() as connection, connection.transaction():
            account_id, email = await consume(connection, LinkPurpose.MAGIC_LOGIN, uid, token)
            account = await proof.prove_own(connection, account_id, email, datetime.now(UTC))
        if account is None:
            raise link_not_good()
        self._rights.forget(account_id)
        return await self._sign_in(account, caller, began, "a mailed link")

    async def _sign_in(self, account: Account, caller: Caller, began: float, way: str) -> SignedIn:
        """Create the tokens of a sign-in and record it. `way`: how the user signed in, such as "Google".

        `began`: a time before the account was read. The tokens have this time as the time of sign-in. So if all tokens
        of the account are ended after `began`, these are invalid too.
        """
        if account.blocked:
            raise PermissionDenied("This account is blocked. Contact the operator of this service.")
        self._require_verified(account)
        async with self._db.acquire() as connection, connection.transaction():
            new = await accounts.record_origin(connection, account.id, caller.origin)
            await history.record_sign_in(connection, account, way, caller.origin, new=new)
        if new:
            self._wake_mail()
        signed_in_at = max(began, account.tokens_valid_from.timestamp())
        return SignedIn(
            account=account,
            tokens=self._tokens.pair(account.id, signed_in_at),
            session=self._tokens.sign(TokenType.SESSION, account.id, signed_in_at),
        )

    def _require_verified(self, account: Account) -> None:
        if self._verification_mandatory and not account.email_verified:
            raise PermissionDenied(
                "Verify your e-mail address first: follow the link we e-mailed you, then log in. You can "
                "request another e-mail (POST /auth/resend-verification/)."
            )

    async def _refuse_registration(self, caller: Caller) -> None:
        if not self._registration_open:
            raise PermissionDenied("Registration is closed on this server. Ask its operator for an account.")
        if await bans.banned(self._db, caller.origin):
            raise PermissionDenied("Registration is not available from this browser or network.")

    async def _create(self, connection: asyncpg.Connection, new: NewAccount, caller: Caller) -> Account:
        if self._guards_spending:
            await _count_registration(connection, caller.surroundings, signup.SURROUNDINGS_ACCOUNTS)
            await _count_registration(connection, caller.network, signup.ADDRESS_ACCOUNTS)
        if new.fingerprint:
            await _refuse_third_account(connection, new.fingerprint)
        account = await accounts.create(connection, new)
        await accounts.record_origin(connection, account.id, caller.origin)
        return account

    async def _known(self, person: GooglePerson, holder: int | None) -> Account | None:
        """The account linked to the person's Google id or, if there is none, the account with the person's address.

        An account found by its address is then linked to the Google id. This removes the password and tokens of whoever
        set up the account, unless the account is the `holder`.
        """
        account = await accounts.find_by_google(self._db, person.subject)
        if account is not None:
            return account
        async with self._db.acquire() as connection, connection.transaction():
            found = await accounts.find_by_email(connection, person.email)
            account = found and await self._link(connection, found.id, person, holder)
        if account is not None:
            self._rights.forget(account.id)
        return account

    async def _link(
        self, connection: asyncpg.Connection, account_id: int, person: GooglePerson, holder: int | None
    ) -> Account | None:
        """Link the account to the person's Google id and return it; None if the account's address has changed."""
        await addresses.lock(connection, account_id, person.email)
        # A concurrent request of this person was first. This one must not end the tokens that the other one created.
        if linked := await accounts.find_by_google(connection, person.subject):
            return linked
        stays = holder == account_id
        proven = await (proof.keep if stays else proof.take_over)(
            connection, account_id, person.email, datetime.now(UTC)
        )
        if proven is None:
            return None
        account = await accounts.link_google(connection, account_id, person.subject, person.avatar_url)
        await history.record(connection, account, "google-linked", **({} if stays else history.ENDED))
        return account

    async def _create_for(self, person: GooglePerson, caller: Caller) -> Account:
        await self._refuse_registration(caller)
        async with self._db.acquire() as connection, connection.transaction():
            new = NewAccount(
                username=await accounts.first_free_username(connection, person.email),
                email=person.email,
                first_name=person.first_name,
                last_name=person.last_name,
                email_verified=True,
                avatar_url=person.avatar_url,
                google_subject=person.subject,
                fingerprint=caller.fingerprint_hash,
            )
            account = await self._create(connection, new, caller)
            await guests.give_waiting(connection, account, datetime.now(UTC))
            return account


async def _refuse_third_account(connection: asyncpg.Connection, fingerprint: str) -> None:
    if await accounts.count_by_fingerprint(connection, fingerprint) >= signup.FINGERPRINT_ACCOUNTS:
        raise RateLimited(
            "Too many accounts were registered from this browser. Use one of them.",
            retry_after=signup.FINGERPRINT_RETRY_SECONDS,
            limit=signup.FINGERPRINT_ACCOUNTS,
            remaining=0,
            reset_seconds=signup.FINGERPRINT_RETRY_SECONDS,
            scope="fingerprint",
        )


async def _count_registration(connection: asyncpg.Connection, network: str | None, limit: int) -> None:
    """Count a new account of the network. Raises RateLimited beyond `limit`; the rollback then undoes the count."""
    if network is not None and await accounts.count_registration(connection, network) > limit:
        raise RateLimited(
            "Too many accounts were registered from your network today. Use one of them, or try again tomorrow.",
            retry_after=signup.REGISTRATION_SECONDS,
            limit=limit,
            remaining=0,
            reset_seconds=signup.REGISTRATION_SECONDS,
            scope="network",
        )
