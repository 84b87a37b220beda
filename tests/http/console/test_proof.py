"""A proofreading report, worked through by keyboard."""

from __future__ import annotations

import asyncio

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

SLIPS = "She walked to the the river. The boat was was gone. Nobody had had seen it leave the the quay."


async def test_each_change_is_seen_and_then_applied_or_dismissed(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    chapter = book["chapters"][0]
    await account.patch(f"/chapters/{chapter['id']}/", {"content": SLIPS})
    await page.open(f"books/{book['id']}/proof")

    await check(page, account, book["id"])
    await page.until("document.querySelector('.suggestion ins')")
    count = await left(page)
    await page.script("document.activeElement.blur()")
    await page.keys("a")
    await page.until("Number(document.querySelector('[role=status].left').dataset.left) === values[0]", count - 1)
    await page.keys("d")
    await page.until("Number(document.querySelector('[role=status].left').dataset.left) === values[0]", count - 2)

    after = (await account.get(f"/chapters/{chapter['id']}/")).body["content"]
    assert len(after) < len(SLIPS)
    [report] = (await account.get(f"/proofreading-reports/?book={book['id']}")).body
    listed = (await account.get(f"/proofreading-reports/{report['id']}/suggestions/")).body["results"]
    assert {one["status"] for one in listed} >= {"applied", "dismissed"}


async def test_what_is_safe_is_applied_with_one_button(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    path = f"/chapters/{book['chapters'][0]['id']}/"
    await account.patch(path, {"content": "She walked , alone. to the the river.\n\nThe boat was gone , they said."})
    await page.open(f"books/{book['id']}/proof")

    await check(page, account, book["id"])
    await page.press("Apply safe suggestions")
    await page.press("Apply all")
    await page.sees("2 changes applied.")

    content = (await account.get(path)).body["content"]
    assert content == "She walked, alone. to the the river.\n\nThe boat was gone, they said."


async def check(page: BrowserPage, account: Api, book_id: int) -> None:
    """Looks for the report as soon as it is there: the page itself asks every 15 seconds."""
    await page.press("Check the book")
    reports = f"/proofreading-reports/?book={book_id}"
    async with asyncio.timeout(30):
        while "completed" not in [one["status"] for one in (await account.get(reports)).body]:  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.05)
    await page.look()


async def left(page: BrowserPage) -> int:
    return int(await page.script("return Number(document.querySelector('[role=status].left').dataset.left)"))
