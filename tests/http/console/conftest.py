"""The page in a real Chromium, with the real service. Without a browser these tests are skipped; in CI they fail.

Chromium's headless build is used: the same engine without windows needs a third less CPU.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookgen.http.console.static import assets
from bookgen.store.database import Database
from tests.checkers import require
from tests.http.conftest import PASSWORD, Api, OpenApi, serving
from tests.http.console import browser
from tests.http.console.browser import BrowserPage

SIGN_IN = """
const [folder, username, password, done] = arguments;
(async () => {
  const body = JSON.stringify({ username, password });
  const reply = await fetch("/api/v1/auth/login/", {
    method: "POST", headers: { "Content-Type": "application/json" }, body,
  });
  (await import(`${folder}/session.js`)).signIn(await reply.json(), false);
  location.hash = "/";
  done();
})();
"""
OpenPage = Callable[[Api], Awaitable[BrowserPage]]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    require("chromium-headless-shell", "chromedriver", "axe")
    for chatty in ("selenium", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    driver = browser.start()
    yield driver
    browser.end(driver)


def bound(port: int = 0) -> socket.socket:
    """A socket bound to a reusable address. Only listening sockets get connections."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", port))
    return made


@pytest.fixture(scope="session")
def ports() -> Iterator[list[int]]:
    """The ports of a test's services.

    All tests use the same ones, so the browser's cache of the page's files is reused.
    """
    with contextlib.ExitStack() as kept:
        yield [kept.enter_context(bound()).getsockname()[1] for _ in range(3)]


@pytest.fixture
async def open_api(database: Database, tmp_path: Path, ports: list[int]) -> AsyncIterator[OpenApi]:
    free = iter(ports)
    async with contextlib.AsyncExitStack() as closing:

        async def open_api(**settings: Any) -> Api:
            port = next(free)
            service = serving(database, tmp_path, socket_factory=lambda *_: bound(port), **settings)
            return await closing.enter_async_context(service)

        yield open_api


@pytest.fixture
async def open_page(chromium: Any, open_api: OpenApi) -> AsyncIterator[OpenPage]:
    """Open the page of a service, 1280 pixels wide, in light mode. At the end, there may be no console errors.

    This is checked before the service closes, since its end causes console errors.
    """
    pages: list[BrowserPage] = []

    async def open_page(api: Api) -> BrowserPage:
        page = BrowserPage(chromium, str(api.client.make_url("")).rstrip("/"))
        pages.append(page)
        await page.width(1280)
        await page.scheme("light")
        await page.load()
        await page.complaints()
        await page.strangers()
        return page

    yield open_page
    for page in pages:
        complaints, strangers = await page.complaints(), await page.strangers()
        await page.offline(False)
        await page.script("localStorage.clear(); sessionStorage.clear()")
        assert (complaints, strangers) == ([], [])


@pytest.fixture
async def page(open_page: OpenPage, visitor: Api) -> BrowserPage:
    """A visitor without an account, on a service with the offline model."""
    return await open_page(visitor)


async def sign_in(page: BrowserPage, api: Api, name: str = "ada") -> Api:
    """Sign a new account in on the page. test_session.py tests the sign-in itself."""
    account = await api.as_new_account(name)
    await page.wait_for(SIGN_IN, f"/console/{assets().version}", name, PASSWORD)
    return account
