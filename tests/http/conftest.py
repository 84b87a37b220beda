"""The whole API over real sockets: real database, real actors, the offline model."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, get_port_socket

from bookgen.accounts.rights import RightsCache
from bookgen.accounts.tokens import Tokens
from bookgen.http.application import build_app
from bookgen.http.edge.connection import BoundedRunner
from bookgen.http.edge.keys import Services
from bookgen.http.edge.routing import Route
from bookgen.http.routes import ROUTES
from bookgen.store.database import Database
from tests.canaries import CANARY, watch
from tests.composition import composed
from tests.fakes.stripe_server import SECRET_KEY, WEBHOOK_SECRET, FakeStripe

PASSWORD = f"Z{CANARY}"  # quick to judge: it has no words
PREFIX = "/api/v1"
BLURBS_TRIED = "SELECT NOT EXISTS (SELECT FROM blurb_draft WHERE owner IS NOT NULL OR due_at <= now())"
EMPTY: Mapping[str, Any] = {}


async def pause() -> None:
    """Between two looks at what gives no signal. Looks without a pause take the processor from what they wait for."""
    await asyncio.sleep(0.02)


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
    rights: RightsCache
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
        """The response to these raw bytes."""
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
        """A client of the same service for another user."""
        form = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
        reply = await (await self.as_nobody()).post("/auth/register/", form)
        assert reply.status == 201, reply.body
        user, tokens = reply.body["user"], reply.body["tokens"]
        watch(tokens["refresh"])
        return replace(await self.as_nobody(), access=watch(tokens["access"]), account_id=user["id"])

    async def as_nobody(self) -> Api:
        return Api(self.client, self.services, self.tokens, self.rights)

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
        """A book whose run has ended and whose blurb draft has been tried."""
        book = await self.outlined(**fields)
        assert (await self.post(f"/books/{book['id']}/generate/")).status == 202
        await self.until(book["id"], "completed")
        await self.until_true(BLURBS_TRIED)
        return dict((await self.get(f"/books/{book['id']}/")).body)

    async def until(self, book_id: int, status: str) -> dict[str, Any]:
        """Wait until the run is in this state."""
        path, known = f"/books/{book_id}/generation-status/", '"nothing"'
        async with asyncio.timeout(30):
            while True:
                seen = await self.get(path, headers={"Prefer": "wait=20", "If-None-Match": known})
                if seen.status == 200 and seen.body["generation_status"] == status:
                    return dict(seen.body)
                known = seen.headers["ETag"]

    async def until_true(self, query: str) -> None:
        """Wait until the query is true."""
        async with asyncio.timeout(10):
            while not await self.services.database.http.fetchval(query):
                await pause()

    async def first_suggestion(self, report_id: int) -> int:
        """Poll until the report is completed. Returns its first suggestion."""
        async with asyncio.timeout(30):
            while (await self.get(f"/proofreading-reports/{report_id}/")).body["status"] != "completed":
                await pause()
        return int((await self.get(f"/proofreading-reports/{report_id}/suggestions/")).body["results"][0]["id"])


OpenApi = Callable[..., Awaitable[Api]]


@pytest.fixture
async def open_api(database: Database, tmp_path: Path) -> AsyncIterator[OpenApi]:
    """Opens services with the test's own settings, on one shared database."""
    async with AsyncExitStack() as closing:

        async def open_api(**settings: Any) -> Api:
            return await closing.enter_async_context(serving(database, tmp_path, **settings))

        yield open_api


@pytest.fixture
async def visitor(open_api: OpenApi) -> Api:
    """A client without an account."""
    return await open_api()


@pytest.fixture
async def api(visitor: Api) -> Api:
    """A signed-in author on the self-hosted plan."""
    return await visitor.as_new_account("ada")


@pytest.fixture
async def stripe() -> AsyncIterator[FakeStripe]:
    stripe = FakeStripe()
    await stripe.start()
    yield stripe
    await stripe.stop()


@pytest.fixture
async def shop(open_api: OpenApi, stripe: FakeStripe) -> Api:
    """A service with billing on."""
    return await open_api(
        billing="on",
        stripe_secret_key=SECRET_KEY,
        stripe_webhook_secret=WEBHOOK_SECRET,
        stripe_publishable_key="pk_test_bookgen",
        stripe_api_base=stripe.url,
    )


class Server(TestServer):
    """The server with the runner that the service uses in production."""

    async def _make_runner(self, **_: Any) -> web.BaseRunner:
        return BoundedRunner(self.app)


@contextlib.asynccontextmanager
async def serving(
    database: Database,
    folder: Path,
    *,
    routes: Sequence[Route] = ROUTES,
    site: Mapping[str, Any] = EMPTY,
    socket_factory: Callable[..., socket.socket] = get_port_socket,
    **given: Any,
) -> AsyncIterator[Api]:
    async with composed(database, folder, **given) as service:
        services = replace(service.services, site=replace(service.services.site, **site))
        await service.supervisor.start()
        async with TestClient(Server(build_app(services, routes), socket_factory=socket_factory)) as client:
            yield Api(client, services, service.tokens, service.rights)
