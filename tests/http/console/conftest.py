"""The page in a real Chromium, before the real service. Without a browser its tests are skipped; in CI they fail."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.checkers import require
from tests.http.conftest import PASSWORD, Api, OpenApi
from tests.http.console import browser
from tests.http.console.browser import BrowserPage

OpenPage = Callable[[Api], Awaitable[BrowserPage]]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    require("chromium", "chromedriver", "axe")
    for chatty in ("selenium", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    driver = browser.start()
    yield driver
    driver.quit()


@pytest.fixture
async def open_page(chromium: Any, open_api: OpenApi) -> AsyncIterator[OpenPage]:
    """Opens the page of a service, 1280 pixels wide and in the light; nothing may be wrong with it in the end.

    It is judged before the service closes, whose end would be a complaint.
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
    """Nobody in particular, before a service with the offline model."""
    return await open_page(visitor)


async def sign_in(page: BrowserPage, api: Api, name: str = "ada") -> Api:
    """A new account's own page."""
    account = await api.as_new_account(name)
    await page.open("signin")
    await page.fill("E-mail address or username", name)
    await page.fill("Password", PASSWORD)
    await page.keys(Keys.ENTER)
    await page.until("location.hash === '#/'")
    return account
