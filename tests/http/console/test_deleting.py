"""A book is deleted: at once for the reader, and a moment later for the service, so that it can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

# As if the time to undo were over, which the page hears of as it does of another tab's work.
PASS = """
const [seconds] = arguments;
for (const key of Object.keys(localStorage).filter((one) => one.startsWith("bookgen:deleting:"))) {
  const record = JSON.parse(localStorage.getItem(key));
  localStorage.setItem(key, JSON.stringify({ ...record, at: record.at - seconds * 1000 }));
  dispatchEvent(new StorageEvent("storage", { key, storageArea: localStorage }));
}
"""
# The page's clock stands still: its timers of a second or more go off only when the test lets their time pass.
# `deleted` says whether the page has asked the service to delete something.
CLOCK = """
window.deleted = false;
const send = fetch;
window.fetch = (url, options) => { window.deleted ||= options?.method === "DELETE"; return send(url, options); };
const [set, clear] = [setTimeout, clearTimeout];
const timers = new Map();
let now = Date.now(), last = 1e9;
Date.now = () => now;
window.setTimeout = (work, wait = 0, ...values) => {
  if (wait < 1000) return set(work, wait, ...values);
  timers.set(++last, { due: now + wait, go: () => work(...values) });
  return last;
};
window.clearTimeout = (id) => timers.delete(id) || clear(id);
window.pass = (seconds) => {
  now += seconds * 1000;
  for (const [id, { due, go }] of [...timers]) if (due <= now && timers.delete(id)) go();
};
"""
SECONDS, HOUR = 15, 3600
AWAY = {"type": "mouseMoved", "x": 5, "y": 800}  # where the mouse is at nothing
NOTICE = "[...document.querySelectorAll('.notice')].find((one) => one.textContent.includes('was deleted.'))"
KEPT = "Object.keys(localStorage).some((one) => one.startsWith('bookgen:deleting:'))"


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def book(account: Api) -> dict[str, Any]:
    await account.book(title="The Other")
    return await account.book(title="The Salt Road")


async def ask_to_delete(page: BrowserPage, book: dict[str, Any]) -> None:
    await page.open(f"books/{book['id']}/details")
    await page.press("Delete book")
    await page.sees("You can undo it for 15 seconds, or until you close this page.")
    await page.script("document.querySelector('dialog button.primary').click()")
    await page.sees("“The Salt Road” was deleted.")
    await page.heads("Your books")


async def delete(page: BrowserPage, book: dict[str, Any]) -> None:
    """Delete the book, with an hour more to undo it, so that no test depends on how fast it runs."""
    await ask_to_delete(page, book)
    await page.script(PASS, -HOUR)


async def move(page: BrowserPage, to: dict[str, Any]) -> None:
    await asyncio.to_thread(page.driver.execute_cdp_cmd, "Input.dispatchMouseEvent", to)


async def come(page: BrowserPage, way: str) -> None:
    """Go to the notice, with the pointer or the focus."""
    if way == "focus":
        await page.tab_to("Undo")
    else:
        x, y = await page.script(f"const box = {NOTICE}.getBoundingClientRect(); return [box.x + 9, box.y + 9]")
        await move(page, {"type": "mouseMoved", "x": x, "y": y})
        await page.until(f"{NOTICE}.matches(':hover')")


async def leave(page: BrowserPage, way: str) -> None:
    if way == "focus":
        await page.script("document.querySelector('main h1').focus()")
    else:
        await move(page, AWAY)
        await page.until(f"!{NOTICE}.matches(':hover')")


async def status(account: Api, book: dict[str, Any]) -> int:
    return (await account.get(f"/books/{book['id']}/")).status


async def test_a_deletion_is_undone(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
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


async def test_a_book_is_deleted_when_the_time_to_undo_is_over(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await delete(page, book)
    await page.until("document.querySelectorAll('.shelf li').length === 1")

    await page.script(PASS, HOUR + SECONDS)

    await page.misses("was deleted.")
    assert await status(account, book) == 404
    assert await page.script("return document.querySelectorAll('.shelf li').length") == 1
    assert not await page.script(f"return {KEPT}")


@pytest.fixture
async def clock(page: BrowserPage) -> AsyncIterator[Callable[[float], Awaitable[Any]]]:
    """Let seconds pass on the page's clock, which stands still otherwise."""
    at_start = await asyncio.to_thread(
        page.driver.execute_cdp_cmd, "Page.addScriptToEvaluateOnNewDocument", {"source": CLOCK}
    )
    await page.load()
    yield lambda seconds: page.script("pass(arguments[0])", seconds)
    await asyncio.to_thread(page.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", at_start)


async def test_a_deletion_can_be_undone_for_15_seconds(
    clock: Callable[[float], Awaitable[Any]], page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await ask_to_delete(page, book)

    await clock(SECONDS - 0.1)
    assert not await page.script("return deleted")
    await clock(0.1)

    await page.misses("was deleted.")
    assert await status(account, book) == 404


@pytest.mark.parametrize("way", ["pointer", "focus"])
async def test_the_time_to_undo_begins_anew_when_the_reader_leaves_the_notice(
    clock: Callable[[float], Awaitable[Any]], page: BrowserPage, account: Api, book: dict[str, Any], way: str
) -> None:
    await move(page, AWAY)
    await ask_to_delete(page, book)
    await clock(SECONDS - 5)
    await come(page, way)
    await clock(HOUR)
    assert not await page.script("return deleted")

    await leave(page, way)
    await clock(SECONDS - 0.1)
    assert not await page.script("return deleted")
    await clock(0.1)

    await page.misses("was deleted.")
    assert await status(account, book) == 404


async def test_a_pointer_that_leaves_the_notice_does_not_end_the_hold_of_the_focus(
    clock: Callable[[float], Awaitable[Any]], page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await move(page, AWAY)
    await ask_to_delete(page, book)
    await come(page, "focus")
    await come(page, "pointer")

    await leave(page, "pointer")
    await clock(HOUR)

    assert not await page.script("return deleted")
    await page.sees("was deleted.")
    assert await status(account, book) == 200


async def test_closing_the_page_deletes_the_book_at_once(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    page.expected.append("404")  # where the page hears that the book is gone
    await delete(page, book)

    await page.load("")

    await page.until("document.querySelectorAll('.shelf li').length === 1")
    await page.until(f"!({KEPT})")
    assert await status(account, book) == 404


@pytest.mark.parametrize("changed", [False, True])
async def test_what_could_not_be_sent_is_sent_later_unless_the_book_has_changed(
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


async def test_signing_out_deletes_what_waits(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    await delete(page, book)
    await page.open("account")
    await page.press("Sign out")
    await page.heads("Welcome")

    assert await status(account, book) == 404
