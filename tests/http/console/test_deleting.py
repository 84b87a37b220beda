"""Deleting a book: immediately on the page, and a moment later in the service, so that it can be undone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

# Moves the time of deletion back. The page notices it like a change from another tab.
PASS = """
const [seconds] = arguments;
for (const key of Object.keys(localStorage).filter((one) => one.startsWith("bookgen:deleting:"))) {
  const record = JSON.parse(localStorage.getItem(key));
  localStorage.setItem(key, JSON.stringify({ ...record, at: record.at - seconds * 1000 }));
  dispatchEvent(new StorageEvent("storage", { key, storageArea: localStorage }));
}
"""
SECONDS, HOUR = 15, 3600
AWAY = {"type": "mouseMoved", "x": 5, "y": 800}  # a place without elements
KEPT = "Object.keys(localStorage).some((one) => one.startsWith('bookgen:deleting:'))"


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def book(account: Api) -> dict[str, Any]:
    await account.book(title="The Other")
    return await account.book(title="The Salt Road")


async def delete(page: BrowserPage, book: dict[str, Any]) -> None:
    """Delete the book with one more hour to undo it, so that no test depends on its speed."""
    await page.open(f"books/{book['id']}/details")
    await page.press("Delete book")
    await page.sees("You can undo it for 15 seconds, or until you close this page.")
    await page.script("document.querySelector('dialog button.primary').click()")
    await page.sees("“The Salt Road” was deleted.")
    await page.script(PASS, -HOUR)


async def status(account: Api, book: dict[str, Any]) -> int:
    return (await account.get(f"/books/{book['id']}/")).status


async def test_a_deletion_can_be_undone(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    await delete(page, book)
    await page.heads("Your books")
    await page.until("document.querySelectorAll('.shelf li').length === 1")
    assert await status(account, book) == 200

    await page.press("Undo")

    await page.until("document.querySelectorAll('.shelf li').length === 2")
    await page.misses("was deleted.")
    await page.load("")
    await page.until("document.querySelectorAll('.shelf li').length === 2")
    assert await status(account, book) == 200


async def test_a_book_is_deleted_when_the_time_to_undo_has_passed(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await delete(page, book)
    await page.until("document.querySelectorAll('.shelf li').length === 1")

    await page.script(PASS, HOUR + SECONDS)

    await page.misses("was deleted.")
    assert await status(account, book) == 404
    assert await page.script("return document.querySelectorAll('.shelf li').length") == 1
    assert not await page.script(f"return {KEPT}")


async def test_the_time_to_undo_does_not_run_while_the_notice_has_the_focus_or_the_mouse(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await delete(page, book)
    await page.heads("Your books")
    await page.until("document.querySelector('.shelf li')")
    await asyncio.to_thread(page.driver.execute_cdp_cmd, "Input.dispatchMouseEvent", AWAY)
    await page.tab_to("Undo")

    await page.script(PASS, HOUR + SECONDS)
    assert await status(account, book) == 200


async def test_closing_the_page_deletes_the_book_at_once(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    page.expected.append("404")  # from the page, when it finds the book gone
    await delete(page, book)

    await page.load("")

    await page.until("document.querySelectorAll('.shelf li').length === 1")
    await page.until(f"!({KEPT})")
    assert await status(account, book) == 404


@pytest.mark.parametrize("changed", [False, True])
async def test_a_deletion_that_could_not_be_sent_is_sent_later_unless_the_book_has_changed(
    page: BrowserPage, account: Api, book: dict[str, Any], changed: bool
) -> None:
    page.expected += ["ERR_INTERNET_DISCONNECTED", "409"]
    await delete(page, book)
    await page.offline(True)
    await page.script(PASS, HOUR + SECONDS)
    await page.sees("The service can’t be reached.")
    if changed:
        await account.patch(f"/books/{book['id']}/", {"subtitle": "Changed elsewhere"})
    await page.script(
        "for (const key of Object.keys(localStorage)) if (key.startsWith('bookgen:deleting:')) "
        "localStorage.setItem(key, localStorage.getItem(key).replace(/}$/, ',\"left\":true}'))"
    )

    await page.offline(False)

    await page.misses("was deleted.")
    await page.until(f"!({KEPT})")
    assert await status(account, book) == (200 if changed else 404)
    if changed:
        await page.sees("“The Salt Road” has changed since you deleted it, so it was kept.")


async def test_signing_out_carries_out_pending_deletions(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    await delete(page, book)
    await page.open("account")
    await page.press("Sign out")
    await page.heads("Welcome")

    assert await status(account, book) == 404
