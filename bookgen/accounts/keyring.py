"""The keys that sign tokens: at first the server's secret, later random keys that are stored in the database.

All processes on one database need the same secret, so the database stores a fingerprint of it. On a shared database, a
process with another secret refuses to start. Otherwise it would reject the tokens that the other processes have signed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from datetime import timedelta

import asyncpg
import structlog
from cryptography.fernet import Fernet, InvalidToken

from bookgen.accounts.tokens import LIFETIME_SECONDS, Tokens
from bookgen.errors import StartupError, Unavailable
from bookgen.store import signing_keys
from bookgen.store.signing_keys import SealedKey

RELOAD_SECONDS = 5.0
LEAD = timedelta(seconds=15)  # until a new key signs: by then every process has read it
LIFETIME = timedelta(seconds=max(LIFETIME_SECONDS.values()))

log = structlog.get_logger(__name__)


class Keyring:
    """Loads and replaces the signing keys in the database, where they are encrypted with the server's secret."""

    def __init__(self, db: asyncpg.Pool, secret: str, *, origin: str) -> None:
        """`origin`: the setting or file that contains the secret, as error messages name it."""
        self._db = db
        self._secret = secret.encode()
        self._origin = origin
        self._cipher = Fernet(base64.urlsafe_b64encode(_derived(b"signing keys", self._secret)))
        self.fingerprint = _derived(b"fingerprint", self._secret).hex()[:16]

    async def require_own(self) -> None:
        """Store this secret's fingerprint if the database has none. If it has another one, raise StartupError."""
        theirs = await signing_keys.claim(self._db, self.fingerprint)
        if theirs != self.fingerprint:
            raise StartupError(
                f"{self._origin} is not the secret that this database is used with: the fingerprints "
                f"{self.fingerprint} and {theirs} differ. Set BOOKGEN_SECRET_KEY to the same secret on every host, or "
                "copy the file secret.key from the first host. If that secret is lost, run: bookgen keys reset"
            )

    async def claim(self) -> None:
        """Store this secret's fingerprint if the database has none. If it has another one, only log a warning.

        For the embedded database, which no other host uses. A changed secret does no harm there, except that everyone
        has to sign in again.
        """
        theirs = await signing_keys.claim(self._db, self.fingerprint)
        if theirs != self.fingerprint:
            log.warning(
                "secret_changed",
                secret=f"{self._origin}, {self.fingerprint}",
                before=theirs,
                to_do="If you did not change the secret, restore the old one. Otherwise everyone has to sign in again; "
                "to end this warning, run: bookgen keys reset",
            )

    async def reset(self) -> None:
        """Store this secret's fingerprint and delete the database's keys. Tokens signed with them become invalid."""
        async with self._db.acquire() as connection, connection.transaction():
            await signing_keys.replace(connection, self.fingerprint)

    async def rotate(self) -> None:
        """Add a new key to the database. Tokens signed with earlier keys are accepted until they expire.

        New tokens are signed with the new key once it is older than LEAD, because by then every process has read it.
        """
        await signing_keys.add(self._db, self._cipher.encrypt(secrets.token_bytes(32)))

    async def load(self, tokens: Tokens) -> None:
        """Use the current keys of the database to sign and verify tokens."""
        signing, accepted = self._keys(await signing_keys.listed(self._db, LEAD, LIFETIME))
        tokens.use(signing, accepted)

    async def watch(self, tokens: Tokens) -> None:
        """Reload the keys at intervals until cancelled. Errors are logged, and the loop continues."""
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            try:
                await self.load(tokens)
            except Unavailable as outage:
                log.warning("signing_keys_not_read", reason=str(outage))
            except Exception:
                log.exception(
                    "signing_keys_not_read",
                    to_do="The keys that sign tokens are read again in 5 seconds. If this repeats, report the "
                    "traceback as a bug.",
                )

    def _keys(self, sealed: list[SealedKey]) -> tuple[bytes, tuple[bytes, ...]]:
        """The key that signs new tokens, and all keys whose tokens are accepted.

        `sealed`: the encrypted keys, newest first.
        """
        accepted, signing = [], None
        for each in sealed:
            try:
                key = self._cipher.decrypt(each.sealed)
            except InvalidToken:
                continue  # encrypted with another secret, which `claim` and `reset` report
            accepted.append(key)
            if each.signs and signing is None:
                signing = key
            if each.supersedes_earlier:
                return signing or key, tuple(accepted)
        return signing or self._secret, (*accepted, self._secret)


def _derived(purpose: bytes, secret: bytes) -> bytes:
    return hashlib.sha256(b"bookgen " + purpose + b"\0" + secret).digest()
