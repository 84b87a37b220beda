"""Every view judged by axe: in the light, in the dark, right to left, and twice as large."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.http.conftest import OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in

Mode = Callable[[BrowserPage], Awaitable[None]]

PUBLIC = ("", "sample", "sample/1", "signin", "signin/new", "new")


async def as_it_is(page: BrowserPage) -> None:
    """1280 pixels wide and in the light."""


async def dark(page: BrowserPage) -> None:
    await page.scheme("dark")


async def right_to_left(page: BrowserPage) -> None:
    await page.script("document.dir = 'rtl'")


async def twice_as_large(page: BrowserPage) -> None:
    await page.width(640)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", [as_it_is, dark, right_to_left, twice_as_large])
async def test_axe_finds_nothing(
    open_api: OpenApi, open_page: OpenPage, mode: Callable[[BrowserPage], Awaitable[None]]
) -> None:
    api = await open_api()
    page = await open_page(api)
    await mode(page)

    found = {view: await judged(page, view) for view in PUBLIC}
    account = await sign_in(page, api)
    await api.services.database.http.execute("UPDATE account SET is_staff = true")
    await page.open("")
    book = await account.written(title="The Salt Road")
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "She walked to the the river, by hand."})
    await account.post(f"/books/{book['id']}/generate-cover/", {"count": 2})
    draft = await account.book(title="A Draft")
    for view in views(book, draft):
        found[view] = await judged(page, view)
    await page.open(f"books/{book['id']}/proof")
    await page.press("Check the book")
    await page.look()
    await page.until("document.querySelector('.suggestion ins')")
    found["proof"] = await page.findings()

    assert {view: findings for view, findings in found.items() if findings} == {}


def views(book: dict[str, Any], draft: dict[str, Any]) -> list[str]:
    parts = ("outline", "writing", "read", "proof", "cover", "files", "details", "preview")
    chapter = f"books/{book['id']}/chapters/{book['chapters'][0]['id']}"
    return [
        "", "new", "account", "plan", "staff", f"books/{draft['id']}/outline",
        *(f"books/{book['id']}/{part}" for part in parts), chapter, f"{chapter}/edit", f"{chapter}/former",
    ]  # fmt: skip


async def judged(page: BrowserPage, view: str) -> list[str]:
    await page.open(view)
    await page.until("location.hash === '#/' + values[0]", view)
    await page.until("!document.body.innerText.includes('Loading …')")
    await page.until("document.querySelector('main h1')")
    wide = await page.script("return document.documentElement.scrollWidth - innerWidth")
    return [*await page.findings(), *([f"{wide} pixels too wide"] if wide > 0 else [])]
