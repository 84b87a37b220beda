"""Accounts, mail and sign-in alone, on a real database and over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

from aiohttp.test_utils import TestClient, TestServer

from bookgen.accounts.mailing import Mailing
from bookgen.accounts.rights import RightsCache
from bookgen.accounts.service import Accounts
from bookgen.accounts.tokens import Tokens
from bookgen.http.application import build_app
from bookgen.store import accounts
from bookgen.store.database import Database
from tests.canaries import CANARY, watch
from tests.composition import composed

PASSWORD = f"Z{CANARY}"  # quick to judge: it has no words
API = "/api/v1"


@dataclass
class Door:
    """The client of a service's account endpoints, with a view of its database and outbox."""

    accounts: Accounts
    rights: RightsCache
    tokens: Tokens
    database: Database
    mailing: Mailing
    outbox: Path
    client: TestClient[Any, Any]
    have_runs: asyncio.Queue[int] = field(default_factory=asyncio.Queue)  # blocked account ids

    async def call(self, method: str, path: str, *, token: str | None = None, **call: Any) -> tuple[int, Any]:
        headers = {**call.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        async with self.client.request(method, API + path, headers=headers, **call) as reply:
            return reply.status, await reply.json()

    async def post(self, path: str, body: Any = None, **call: Any) -> tuple[int, Any]:
        return await self.call("POST", path, json=body or {}, **call)

    async def register(self, name: str = "ada", **more: Any) -> Any:
        """Register an account. Returns the response body."""
        headers = more.pop("headers", {})
        form = {"username": name, "email": f"{name}@example.com", "password": PASSWORD, **more}
        status, body = await self.post("/auth/register/", form, headers=headers)
        assert status == 201, body
        for token in body.get("tokens", {}).values():
            watch(token)
        return body

    async def access(self, name: str = "ada") -> str:
        """Register an account. Returns its access token."""
        return cast(str, (await self.register(name))["tokens"]["access"])

    async def verified(self, name: str = "ada") -> str:
        """Register an account and verify its address. Returns its access token."""
        token = await self.access(name)
        status, body = await self.call("GET", await self.link("verify-email"), token=token)
        assert status == 200, body
        return token

    async def block(self, account_id: int) -> None:
        """Block an account as the operator's command does, and notify this process."""
        await accounts.block(self.database.http, account_id, "spam")
        await self.rights.look(self.have_runs.put)

    async def letters(self) -> list[EmailMessage]:
        """All letters sent so far, oldest first."""
        while await self.mailing.deliver_due():
            pass
        files = sorted(self.outbox.glob("*.eml"))
        return [cast(EmailMessage, message_from_bytes(file.read_bytes(), policy=policy.default)) for file in files]

    async def link(self, page: str) -> str:
        """The path of the call behind the newest mailed link to a page."""
        texts = [str(letter.get_body(("plain",)).get_content()) for letter in await self.letters()]  # type: ignore[union-attr]
        lines = [line for text in texts for line in text.splitlines() if f"/{page}/" in line]
        link = lines[-1][lines[-1].index(f"/{page}/") :]
        watch(link.split("/")[-2])
        return f"/auth{link}"


OpenDoor = Callable[..., Awaitable[Door]]


@contextlib.asynccontextmanager
async def opened(database: Database, folder: Path, **given: Any) -> AsyncIterator[Door]:
    """A service whose background loops do not run, so that only requests change it."""
    given = {"google_client_id": "our-client-id", "trusted_proxies": "127.0.0.0/8", "billing": "on", **given}
    async with composed(database, folder, **given) as service:
        accounts, outbox = service.services.accounts, folder / "outbox"
        async with TestClient(TestServer(build_app(service.services))) as client:
            yield Door(accounts, service.rights, service.tokens, database, service.mailing, outbox, client)
