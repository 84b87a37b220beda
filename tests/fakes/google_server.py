"""A fake Google, with the responses of the real tokeninfo and userinfo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer


@dataclass
class GoogleServer:
    """`grants` maps an access token to the person who granted it and the client that got it.

    `queried`: tokeninfo accepts the token only in the query string, as Google documents it.
    """

    grants: dict[str, dict[str, Any]] = field(default_factory=dict)
    queried: bool = False
    broken: web.Response | None = None

    def grant(self, token: str, *, sub: str, email: str, aud: str = "our-client-id", **person: Any) -> None:
        self.grants[token] = {"sub": sub, "email": email, "aud": aud, "email_verified": True, **person}

    async def start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/tokeninfo", self._tokeninfo)
        app.router.add_get("/v1/userinfo", self._userinfo)
        self._server = TestServer(app)
        await self._server.start_server()

    async def close(self) -> None:
        await self._server.close()

    @property
    def base(self) -> str:
        return str(self._server.make_url("/"))

    async def _tokeninfo(self, request: web.Request) -> web.Response:
        if self.broken:
            return self.broken
        if self.queried and request.method != "GET":
            raise web.HTTPMethodNotAllowed(request.method, ["GET"])
        given = request.query if self.queried else await request.post()
        grant = self.grants.get(str(given.get("access_token")))
        if grant is None:
            return web.json_response({"error": "invalid_token", "error_description": "Invalid Value"}, status=400)
        return web.json_response(
            {
                "azp": grant["aud"],
                "aud": grant["aud"],
                "sub": grant["sub"],
                "scope": "openid email profile",
                "exp": "1900000000",
                "expires_in": "3599",
                "email": grant["email"],
                "email_verified": str(grant["email_verified"]).lower(),
                "access_type": "online",
            }
        )

    async def _userinfo(self, request: web.Request) -> web.Response:
        grant = self.grants.get(request.headers.get("Authorization", "").removeprefix("Bearer "))
        if grant is None:
            return web.json_response({"error": "invalid_request"}, status=401)
        named = {name: grant[name] for name in ("given_name", "family_name", "picture") if name in grant}
        return web.json_response(
            {
                "sub": grant.get("userinfo_sub", grant["sub"]),
                "email": grant["email"],
                "email_verified": grant["email_verified"],
                **named,
            }
        )
