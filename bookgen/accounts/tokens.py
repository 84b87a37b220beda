"""Signed bearer tokens and the tokens of mailed one-time links, without a database."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import jwt

from bookgen.errors import TokenExpired, TokenInvalid

ALGORITHM = "HS256"
MAX_TOKEN_CHARACTERS = 4096
_FORM = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)  # the decoder is lenient and would accept `=`
MAX_ID = 2**63 - 1
YEAR_SECONDS = 365 * 24 * 3600


class TokenType(StrEnum):
    """Types of tokens. `session` is for the cookie, so that a stolen cookie is not a bearer token and vice versa."""

    ACCESS = "access"
    REFRESH = "refresh"
    SESSION = "session"


LIFETIME_SECONDS: Mapping[str, int] = {
    TokenType.ACCESS: 24 * 3600,
    TokenType.REFRESH: 30 * 24 * 3600,
    TokenType.SESSION: 24 * 3600,
}


@dataclass(frozen=True, slots=True)
class TokenPair:
    access: str
    refresh: str


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a token. Times are Unix times. `signed_in_at`: when the original sign-in began."""

    token_type: str
    account_id: int
    expires_at: int
    signed_in_at: float


class Tokens:
    """Signs and verifies tokens, with the secret key until `use` sets other keys."""

    def __init__(self, secret_key: str, *, clock: Callable[[], float] = time.time) -> None:
        self._signing = secret_key.encode()
        self._accepted: tuple[bytes, ...] = (self._signing,)
        self.now = clock

    def use(self, signing: bytes, accepted: tuple[bytes, ...]) -> None:
        """Sign with the key `signing`, and accept tokens of all `accepted` keys."""
        self._signing, self._accepted = signing, accepted

    def pair(self, account_id: int, signed_in_at: float | None = None) -> TokenPair:
        signed_in_at = self.now() if signed_in_at is None else signed_in_at
        return TokenPair(
            access=self.sign(TokenType.ACCESS, account_id, signed_in_at),
            refresh=self.sign(TokenType.REFRESH, account_id, signed_in_at),
        )

    def sign(self, token_type: TokenType, account_id: int, signed_in_at: float | None = None) -> str:
        """Create a token for a sign-in that began at `signed_in_at`; None: now.

        A refresh token expires at the latest a year after the sign-in, so the user then has to sign in again.
        """
        now = self.now()
        signed_in_at = now if signed_in_at is None else signed_in_at
        expires_at = now + LIFETIME_SECONDS[token_type]
        if token_type is TokenType.REFRESH:
            expires_at = min(expires_at, signed_in_at + YEAR_SECONDS)
        claims = {
            "token_type": token_type.value,
            "exp": int(expires_at),
            "iat": int(now),
            "auth_time": signed_in_at,
            "user_id": account_id,
            "jti": secrets.token_hex(16),
        }
        return jwt.encode(claims, self._signing, algorithm=ALGORITHM)

    def verify(self, token: str, token_type: TokenType) -> Claims:
        """The claims of a token of this type. Raises TokenInvalid, or TokenExpired for an expired access token."""
        claims = _decode(token, self._accepted)
        if claims.token_type != token_type:
            raise TokenInvalid
        if claims.expires_at <= self.now():
            if token_type is TokenType.ACCESS:
                raise TokenExpired(token_type=token_type.value)
            raise TokenInvalid
        return claims


def _decode(token: str, keys: Sequence[bytes]) -> Claims:
    if len(token) > MAX_TOKEN_CHARACTERS or not _FORM.fullmatch(token):
        raise TokenInvalid
    payload = next((found for key in keys if (found := _payload(token, key))), None)
    if payload is None:
        raise TokenInvalid
    token_type, account_id, expires_at = str(payload["token_type"]), payload["user_id"], payload["exp"]
    if type(account_id) is not int or type(expires_at) is not int or not 0 < account_id <= MAX_ID:
        raise TokenInvalid
    # Older tokens have no `auth_time`: each counts as a sign-in of its own, at the time when it was issued.
    issued_at = payload.get("iat", expires_at - LIFETIME_SECONDS.get(token_type, 0))
    signed_in_at = payload.get("auth_time", issued_at)
    if type(signed_in_at) not in (int, float):
        raise TokenInvalid
    return Claims(token_type, account_id, expires_at, float(signed_in_at))


def _payload(token: str, key: bytes) -> Mapping[str, Any] | None:
    """The payload of the token, or None if the key did not sign it."""
    try:
        payload: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            options={"require": ["exp", "user_id", "token_type"], "verify_exp": False, "verify_iat": False},
        )
    # RecursionError: the header is parsed before the signature is checked, so the caller decides how deep it nests.
    except (jwt.InvalidTokenError, RecursionError):
        return None
    return payload


def new_link_token() -> str:
    """An unguessable token for a mailed link. Store only its `link_token_hash`."""
    return secrets.token_urlsafe(32)


def link_token_hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def encode_uid(account_id: int) -> str:
    return base64.urlsafe_b64encode(str(account_id).encode()).decode().rstrip("=")


def decode_uid(uid: str) -> int | None:
    """The account id that `encode_uid` encoded for a mailed link; None if `uid` is malformed."""
    if len(uid) > 32 or not uid.isascii():
        return None
    try:
        text = base64.b64decode(uid + "=" * (-len(uid) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    if not text.isdecimal() or not 0 < int(text) <= MAX_ID:
        return None
    return int(text)
