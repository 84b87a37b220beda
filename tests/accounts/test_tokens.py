"""Tokens: what is signed, and what is accepted."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest

from bookgen.accounts.tokens import (
    LIFETIME_SECONDS,
    Tokens,
    TokenType,
    decode_uid,
    encode_uid,
    link_token_hash,
    new_link_token,
)
from bookgen.errors import TokenExpired, TokenInvalid

KEY = "a key of at least thirty-two bytes for HS256"
NOW = 1_800_000_000


class TokenClock:
    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> TokenClock:
    return TokenClock()


@pytest.fixture
def tokens(clock: TokenClock) -> Tokens:
    return Tokens(KEY, clock=clock)


def encoded(part: Any) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(claims: Any, *, header: Any = None, key: str = KEY) -> str:
    """A token with these claims, signed with HS256."""
    signed = f"{encoded(header or {'alg': 'HS256', 'typ': 'JWT'})}.{encoded(claims)}"
    return f"{signed}.{encoded(hmac.digest(key.encode(), signed.encode(), hashlib.sha256))}"


def claims(**changes: Any) -> dict[str, Any]:
    good = {"token_type": "access", "exp": NOW + 60, "user_id": 7, "jti": "x"}
    return {name: value for name, value in (good | changes).items() if value is not None}


def test_a_pair_has_two_tokens_with_the_claims_in_the_contract(tokens: Tokens) -> None:
    pair = tokens.pair(7)

    access, refresh = (
        jwt.decode(token, KEY, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False})
        for token in (pair.access, pair.refresh)
    )
    assert set(access) == {"token_type", "exp", "iat", "auth_time", "user_id", "jti"}
    assert (access["iat"], access["auth_time"]) == (NOW, NOW)
    assert (access["token_type"], access["user_id"], access["exp"]) == ("access", 7, NOW + 24 * 3600)
    assert (refresh["token_type"], refresh["exp"]) == ("refresh", NOW + 30 * 24 * 3600)
    assert access["jti"] != refresh["jti"]


def test_a_token_that_another_process_signed_with_the_same_key_is_valid(tokens: Tokens) -> None:
    assert tokens.verify(forged(claims()), TokenType.ACCESS).account_id == 7


ATTACKS = {
    "no algorithm": forged(claims(), header={"alg": "none"}),
    "no algorithm, no signature": f"{encoded({'alg': 'none'})}.{encoded(claims())}.",
    "algorithm in odd case": forged(claims(), header={"alg": "hs256"}),
    "RS256": forged(claims(), header={"alg": "RS256"}),
    "HS512": jwt.encode(claims(), KEY * 2, algorithm="HS512"),
    "another key": forged(claims(), key="another key of at least thirty-two bytes"),
    "empty key": forged(claims(), key=""),
    "key named by the token": forged(claims(), header={"alg": "HS256", "kid": "/dev/null"}, key=""),
    "key inside the token": forged(claims(), header={"alg": "HS256", "jwk": {"kty": "oct", "k": "QQ"}}, key="A"),
    "unknown critical header": forged(claims(), header={"alg": "HS256", "crit": ["b64"], "b64": False}),
    "truncated": forged(claims())[:-4],
    "signature missing": forged(claims()).rpartition(".")[0],
    "signature empty": forged(claims()).rpartition(".")[0] + ".",
    "two parts": "a.b",
    "five parts": "a.b.c.d.e",
    "empty": "",
    "not base64": "!!!.???.===",
    "not JSON": f"{encoded(b'{')}.{encoded(b'}')}.AAAA",
    "not ASCII": "ä" + forged(claims()),
    "a byte that is no text": "\udcff" + forged(claims()),
    "deep header": f"{encoded(b'[' * 2900)}.e30.AAAA",
    "long number in header": f"{encoded(b'1' * 3000)}.e30.AAAA",
    "padded": forged(claims()) + "=",
    "payload is a list": forged([1, 2]),
    "payload changed": ".".join(
        part if place != 1 else encoded(claims(user_id=8)) for place, part in enumerate(forged(claims()).split("."))
    ),
    "refresh token": forged(claims(token_type="refresh")),
    "session cookie": forged(claims(token_type="session")),
    "no type": forged(claims(token_type=None)),
    "no user": forged(claims(user_id=None)),
    "no expiry": forged(claims(exp=None)),
    "type is a list": forged(claims(token_type=["access"])),
    "user is text": forged(claims(user_id="7")),
    "user is true": forged(claims(user_id=True)),
    "user is zero": forged(claims(user_id=0)),
    "user is negative": forged(claims(user_id=-7)),
    "user is too large": forged(claims(user_id=2**63)),
    "expiry is text": forged(claims(exp="never")),
    "expiry is endless": forged(claims(exp=1e999)),
    "5 KB": forged(claims(padding="x" * 5000)),
}


@pytest.mark.parametrize("token", ATTACKS.values(), ids=ATTACKS)
def test_a_forged_or_malformed_token_is_invalid(tokens: Tokens, token: str) -> None:
    for _ in range(2):
        with pytest.raises(TokenInvalid):
            tokens.verify(token, TokenType.ACCESS)


@pytest.mark.parametrize("now", [1_000_000_000, 4_000_000_000])
def test_only_the_given_clock_decides_whether_a_token_is_valid_at_its_time(now: int) -> None:
    tokens = Tokens(KEY, clock=lambda: now)

    assert tokens.verify(tokens.sign(TokenType.ACCESS, 7), TokenType.ACCESS).account_id == 7


def test_an_access_token_expires_to_the_second(tokens: Tokens, clock: TokenClock) -> None:
    token = tokens.sign(TokenType.ACCESS, 7)

    clock.now = NOW + LIFETIME_SECONDS[TokenType.ACCESS] - 0.5
    assert tokens.verify(token, TokenType.ACCESS).account_id == 7
    clock.now += 0.5

    with pytest.raises(TokenExpired) as expired:
        tokens.verify(token, TokenType.ACCESS)
    assert expired.value.details == {"token_type": "access"}


@pytest.mark.parametrize("token_type", [TokenType.REFRESH, TokenType.SESSION])
def test_an_expired_token_of_another_type_is_invalid(tokens: Tokens, clock: TokenClock, token_type: TokenType) -> None:
    token = tokens.sign(token_type, 7)

    clock.now += LIFETIME_SECONDS[token_type]

    with pytest.raises(TokenInvalid):
        tokens.verify(token, token_type)


def test_a_wrong_token_type_is_reported_before_the_expiry(tokens: Tokens) -> None:
    with pytest.raises(TokenInvalid):
        tokens.verify(forged(claims(token_type="refresh", exp=NOW - 1)), TokenType.ACCESS)


def test_a_token_is_refused_once_its_key_is_no_longer_accepted(tokens: Tokens) -> None:
    token = tokens.sign(TokenType.ACCESS, 7)
    assert tokens.verify(token, TokenType.ACCESS).account_id == 7

    tokens.use(b"another key of thirty-two bytes or more", (b"another key of thirty-two bytes or more",))

    with pytest.raises(TokenInvalid):
        tokens.verify(token, TokenType.ACCESS)


def test_link_tokens_are_random_and_stored_as_hashes() -> None:
    drawn = {new_link_token() for _ in range(100)}

    assert len(drawn) == 100
    assert all(len(token) >= 43 for token in drawn)
    assert all(token.encode() not in link_token_hash(token) for token in drawn)


@pytest.mark.parametrize("account_id", [1, 7, 10, 12345, 2**63 - 1])
def test_a_uid_is_the_url_safe_base64_of_the_account_id(account_id: int) -> None:
    uid = encode_uid(account_id)

    assert base64.urlsafe_b64decode(uid + "==") == str(account_id).encode()
    assert decode_uid(uid) == account_id


@pytest.mark.parametrize(
    "uid", ["", "!", "ä", "LTE", "MA", "YWJj", "A" * 40, "OTIyMzM3MjAzNjg1NDc3NTgwOA", "4pmg", "MTEx" * 1600, "MTEx!!!"]
)
def test_an_invalid_uid_names_no_account(uid: str) -> None:
    assert decode_uid(uid) is None


def test_refreshing_ends_a_year_after_the_sign_in(tokens: Tokens, clock: TokenClock) -> None:
    year, signed_in_at, pair = 365 * 24 * 3600, clock.now, tokens.pair(7)
    while clock.now + 29 * 24 * 3600 < signed_in_at + year:
        clock.now += 29 * 24 * 3600
        claims = tokens.verify(pair.refresh, TokenType.REFRESH)
        assert claims.signed_in_at == signed_in_at
        pair = tokens.pair(7, claims.signed_in_at)

    clock.now = signed_in_at + year

    with pytest.raises(TokenInvalid):
        tokens.verify(pair.refresh, TokenType.REFRESH)


@pytest.mark.parametrize("said", [{}, {"iat": NOW - 5}, {"iat": NOW - 5, "auth_time": NOW - 9.5}])
def test_a_token_contains_the_time_of_its_sign_in(tokens: Tokens, said: dict[str, Any]) -> None:
    expected = {0: NOW + 60 - LIFETIME_SECONDS[TokenType.ACCESS], 1: NOW - 5, 2: NOW - 9.5}[len(said)]

    assert tokens.verify(forged(claims(**said)), TokenType.ACCESS).signed_in_at == expected


@pytest.mark.parametrize("said", [{"iat": "now"}, {"auth_time": [1]}, {"auth_time": True}])
def test_a_token_with_an_invalid_sign_in_time_is_invalid(tokens: Tokens, said: dict[str, Any]) -> None:
    with pytest.raises(TokenInvalid):
        tokens.verify(forged(claims(**said)), TokenType.ACCESS)
