"""The whole API over real sockets: real database, real actors, the offline model."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bookgen.accounts.blocking import Standings
from bookgen.accounts.mailing import Mailing
from bookgen.accounts.passwords import Passwords
from bookgen.accounts.service import AccountRules, Accounts
from bookgen.accounts.tokens import Tokens
from bookgen.actors.resources import Writing
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.checkout import Payments
from bookgen.billing.quota import Quota
from bookgen.http.edge.keys import Services, Site
from bookgen.http.server import build_app, build_runner
from bookgen.limits import Budget, LimitClass, Limiter
from bookgen.models import Estimate, Usage
from bookgen.providers.google import GoogleSignIn
from bookgen.providers.mail import OutboxMailer
from bookgen.providers.offline import OfflineModel
from bookgen.publishing import Publisher
from bookgen.store.database import Database
from bookgen.support.assistant import Support
from bookgen.writing.chapter import write_chapter
from bookgen.writing.outline import draft_outline, rework_chapters
from tests.canaries import CANARY, watch

SECRET_KEY = f"the secret key {CANARY} of the tests is long enough for HS256"
PASSWORD = f"correct horse {CANARY}"
PREFIX = "/api/v1"
UNLIMITED = {limit_class: Budget(1_000_000, 60) for limit_class in LimitClass}
DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    raw: bytes
    body: Any

    @property
    def code(self) -> str:
        return str(self.body["error"]["code"])


@dataclass
class Api:
    """A client of the service: signed in once `register` was called."""

    client: TestClient[Any, Any]
    services: Services
    tokens: Tokens
    access: str | None = None
    account_id: int = 0
    extra: dict[str, str] = field(default_factory=dict)

    async def call(self, method: str, path: str, *, prefix: str = PREFIX, **options: Any) -> Reply:
        headers = {**self.extra, **options.pop("headers", {})}
        if self.access and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {self.access}"
        options.setdefault("allow_redirects", False)
        async with self.client.request(method, prefix + path, headers=headers, **options) as reply:
            raw = await reply.read()
            body = await reply.json() if reply.content_type == "application/json" and raw else None
            return Reply(reply.status, reply.headers, raw, body)

    async def get(self, path: str, **options: Any) -> Reply:
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> Reply:
        return await self.call("POST", path, **({"json": body} if body is not None else {}), **options)

    async def patch(self, path: str, body: Any, **options: Any) -> Reply:
        return await self.call("PATCH", path, json=body, **options)

    async def delete(self, path: str) -> Reply:
        return await self.call("DELETE", path)

    async def raw(self, request: bytes) -> bytes:
        """What the server says to these very bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.client.port)
        try:
            writer.write(request)
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                return head + await reader.readexactly(int(length[1]) if length else 0)
        finally:
            writer.close()
            await writer.wait_closed()

    async def as_new_account(self, name: str) -> Api:
        """The same service for somebody else."""
        form = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
        reply = await Api(self.client, self.services, self.tokens).post("/auth/register/", form)
        assert reply.status == 201, reply.body
        user, tokens = reply.body["user"], reply.body["tokens"]
        watch(tokens["refresh"])
        return Api(self.client, self.services, self.tokens, watch(tokens["access"]), user["id"])

    async def as_nobody(self) -> Api:
        return Api(self.client, self.services, self.tokens)

    async def book(self, **fields: Any) -> dict[str, Any]:
        """A draft of two short chapters."""
        told = {"description": f"Of a {CANARY}.", "style_notes": f"Sing, {CANARY}.", **fields}
        reply = await self.post("/books/", {"title": "A Book", "chapter_count": 2, "target_word_count": 400, **told})
        assert reply.status == 201, reply.body
        return dict(reply.body)

    async def outlined(self, **fields: Any) -> dict[str, Any]:
        book = await self.book(**fields)
        reply = await self.post(f"/books/{book['id']}/generate-outline/")
        assert reply.status == 200, reply.body
        return dict(reply.body)

    async def written(self, **fields: Any) -> dict[str, Any]:
        """A book whose run is over."""
        book = await self.outlined(**fields)
        assert (await self.post(f"/books/{book['id']}/generate/")).status == 202
        await self.until(book["id"], "completed")
        return dict((await self.get(f"/books/{book['id']}/")).body)

    async def until(self, book_id: int, status: str) -> dict[str, Any]:
        """Polls until the run is in that state."""
        async with asyncio.timeout(30):
            while True:
                seen = (await self.get(f"/books/{book_id}/generation-status/")).body
                if seen["generation_status"] == status:
                    return dict(seen)


OpenApi = Callable[..., Awaitable[Api]]


@pytest.fixture
async def open_api(database: Database, tmp_path: Path) -> AsyncIterator[OpenApi]:
    """Opens a service with settings of the test's own; several of them share the database."""
    async with AsyncExitStack() as closing:

        async def open_api(**settings: Any) -> Api:
            return await closing.enter_async_context(serving(database, tmp_path, **settings))

        yield open_api


@pytest.fixture
async def visitor(open_api: OpenApi) -> Api:
    """Nobody in particular."""
    return await open_api()


@pytest.fixture
async def api(visitor: Api) -> Api:
    """A signed-in author on the self-hosted plan."""
    return await visitor.as_new_account("ada")


class Server(TestServer):
    """On the runner that the service has in earnest."""

    async def _make_runner(self, **_: Any) -> web.BaseRunner:
        return build_runner(self.app)


@contextlib.asynccontextmanager
async def serving(
    database: Database,
    folder: Path,
    *,
    budgets: Mapping[LimitClass, Budget] = UNLIMITED,
    billing: bool = False,
    payments: Payments | None = None,
    model: Any = None,
    routes: Any = None,
    public_url: str = "http://books.example",
    max_callers: int = 50_000,
    **site: Any,
) -> AsyncIterator[Api]:
    model = model or OfflineModel()
    quota = Quota(billing=billing, public_url=public_url)
    tokens, passwords = Tokens(SECRET_KEY), Passwords(time_cost=1, memory_kib=8)
    supervisor = Supervisor(
        database, writing=Writing(draft_outline, rework_chapters, write_chapter), model=model, quota=quota
    )
    mailing = Mailing(
        database.http, OutboxMailer(folder / "outbox", sender="books@books.example"), public_url=public_url
    )
    publisher = Publisher(database, quota)
    async with aiohttp.ClientSession() as session:
        services = Services(
            database=database,
            supervisor=supervisor,
            accounts=Accounts(
                database.http,
                tokens=tokens,
                passwords=passwords,
                google=GoogleSignIn(session, client_id=None),
                rules=AccountRules(),
                wake_mail=mailing.wake,
                standings=Standings(database.http),
            ),
            quota=quota,
            payments=payments or Payments(database.http, None, public_url=public_url),
            publisher=publisher,
            support=Support.over(DOCS, f"{public_url}{PREFIX}/docs/", model),
            limiter=Limiter(budgets, max_callers=max_callers),
            site=Site(public_url=public_url, models=(model.name,), documents=DOCS, **site),
            estimate=lambda book, chapters: Estimate(None, 60 * len(chapters), calls=0, usage=Usage()),
            unready=lambda: supervisor.unready,
        )
        app = build_app(services, **({"routes": routes} if routes is not None else {}))
        await supervisor.start()
        async with TestClient(Server(app)) as client:
            yield Api(client, services, tokens)
        await supervisor.drain(0)
        await publisher.close()
    passwords.close()
