"""Google sign-in: checks that an access token was issued for this site, and finds out whose token it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from bookgen.errors import InvalidCredentials, InvalidInput, Unavailable

TOKENINFO_URL = "https://oauth2.googleapis.com/tokeninfo"
USERINFO_URL = "https://openidconnect.googleapis.com/v1/userinfo"
TIMEOUT_SECONDS = 5.0
MAX_REPLY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class GooglePerson:
    subject: str
    email: str
    first_name: str = ""
    last_name: str = ""
    avatar_url: str | None = None


class GoogleSignIn:
    """Verifies access tokens at Google. Without a client id, Google sign-in is off."""

    def __init__(self, session: aiohttp.ClientSession, *, client_id: str | None, api_base: str | None = None) -> None:
        self._session = session
        self._client_id = client_id
        self._tokeninfo_url = f"{api_base.rstrip('/')}/tokeninfo" if api_base else TOKENINFO_URL
        self._userinfo_url = f"{api_base.rstrip('/')}/v1/userinfo" if api_base else USERINFO_URL

    async def identify(self, access_token: str) -> GooglePerson:
        if not self._client_id:
            raise InvalidInput(
                "Google sign-in is not set up on this server.",
                access_token=["Google sign-in is not available on this server."],
            )
        token = await self._token_info(access_token)
        # Otherwise another site could use its visitors' tokens to sign in to their accounts here.
        if token.get("aud") != self._client_id:
            raise InvalidCredentials("This Google token was not issued for this service. Sign in with Google again.")
        bearer = {"Authorization": f"Bearer {access_token}"}
        return _person(token, _answer(*await self._call("GET", self._userinfo_url, headers=bearer)))

    async def _token_info(self, access_token: str) -> Mapping[str, Any]:
        form = {"access_token": access_token}
        status, body = await self._call("POST", self._tokeninfo_url, data=form)
        if status in (404, 405):  # a replacement server that only knows the documented query form
            status, body = await self._call("GET", self._tokeninfo_url, params=form)
        return _answer(status, body)

    async def _call(self, method: str, url: str, **call: Any) -> tuple[int, bytes]:
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                self._session.request(method, url, allow_redirects=False, **call) as reply,
            ):
                return reply.status, await _read(reply)
        except ValueError:
            # The token is not valid in a header.
            raise InvalidCredentials("Google rejected this token. Sign in with Google again.") from None
        except (aiohttp.ClientError, TimeoutError):
            raise Unavailable("Google cannot be reached. Try again in a moment.") from None


def _answer(status: int, body: bytes) -> Mapping[str, Any]:
    if 400 <= status < 500 and status != 429:
        raise InvalidCredentials("Google rejected this token. Sign in with Google again.")
    if status != 200:
        raise Unavailable("Google is temporarily unavailable. Try again in a moment.")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise Unavailable("Google sent an invalid response. Try again in a moment.")
    return value


async def _read(reply: aiohttp.ClientResponse) -> bytes:
    body = b""
    async for part in reply.content.iter_any():
        body += part
        if len(body) > MAX_REPLY_BYTES:
            raise Unavailable("Google sent a response that is too long. Try again in a moment.")
    return body


def _person(token: Mapping[str, Any], user: Mapping[str, Any]) -> GooglePerson:
    subject, email = user.get("sub"), user.get("email")
    # tokeninfo includes the subject only if the token has the openid scope.
    if not isinstance(subject, str) or not subject or token.get("sub", subject) != subject:
        raise InvalidCredentials("Google rejected this token. Sign in with Google again.")
    # tokeninfo says "true", userinfo says true.
    verified = user.get("email_verified", token.get("email_verified"))
    if not isinstance(email, str) or verified not in (True, "true"):
        raise InvalidInput(
            access_token=["Google has not verified this account's e-mail address. Verify it with Google first."]
        )
    return GooglePerson(
        subject=subject,
        email=email.strip(),
        first_name=_text(user.get("given_name")),
        last_name=_text(user.get("family_name")),
        avatar_url=_text(user.get("picture"), 2000) or None,
    )


def _text(value: object, longest: int = 150) -> str:
    return value.replace("\0", "")[:longest] if isinstance(value, str) else ""
