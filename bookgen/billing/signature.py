"""Checks the signature of a webhook request: the payment processor must have signed the body recently."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from hashlib import sha256

from bookgen.errors import InvalidInput

TOLERANCE_SECONDS = 300


def require_signature(payload: bytes, header: str, secrets: Sequence[str], now: float) -> None:
    """Raise InvalidInput unless the body was signed with one of `secrets`, within five minutes of `now`.

    There are several secrets while a secret is being replaced. Pass the raw bytes of the body, because they are what
    the processor signed.
    """
    parts = [part.strip().partition("=") for part in header.split(",")]
    timestamp = next((value for name, _, value in parts if name == "t"), "")
    given = [value for name, _, value in parts if name == "v1"]
    if not (re.fullmatch("[0-9]{1,12}", timestamp) and abs(now - int(timestamp)) <= TOLERANCE_SECONDS):
        raise InvalidInput("The webhook signature is missing, invalid or outside the five-minute tolerance.")
    expected = [_sign(payload, timestamp, secret) for secret in secrets]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given if other.isascii()):
        raise InvalidInput("The signature does not match the body.")


def _sign(payload: bytes, timestamp: str, secret: str) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + payload, sha256).hexdigest()
