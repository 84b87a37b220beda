"""The focus after each change, for users of a keyboard or a screen reader, and after going back."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

# Polls, because a change of focus does not change the document.
COMES = """
const [condition, done] = [new Function(`return ${arguments[0]}`), arguments[1]];
const look = () => (condition() ? done(true) : setTimeout(look, 20));
look();
"""
FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent"


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def outline(page: BrowserPage, account: Api) -> dict[str, Any]:
    book = await account.outlined(chapter_count=3)
    await opened(page, f"books/{book['id']}/outline")
    await page.named("Remove chapter 3")
    return book


async def opened(page: BrowserPage, view: str) -> None:
    """Open a view, and check that its heading gets the focus."""
    await page.open(view)
    await page.wait_for(COMES, "document.activeElement.tagName === 'H1'")


async def pressed(page: BrowserPage, name: str) -> None:
    """Press the button by keyboard."""
    await page.script("arguments[0].focus()", await page.named(name))
    await page.keys(Keys.ENTER)


async def test_a_new_chapter_gets_the_focus(page: BrowserPage, outline: dict[str, Any]) -> None:
    await pressed(page, "Add a chapter")
    await page.wait_for(COMES, "document.activeElement.tagName === 'INPUT'")
    await page.keys("The Last One")

    await page.until("[...document.querySelectorAll('.entry input')].some((one) => one.value === 'The Last One')")


@pytest.mark.parametrize(("number", "there"), [(1, "Remove chapter 1"), (3, "Remove chapter 2")])
async def test_removing_a_chapter_moves_the_focus_to_its_neighbour(
    page: BrowserPage, outline: dict[str, Any], number: int, there: str
) -> None:
    await pressed(page, f"Remove chapter {number}")

    await page.wait_for(COMES, f"({FOCUSED}) === '{there}'")


async def test_a_chapter_moved_to_the_top_keeps_the_focus(page: BrowserPage, outline: dict[str, Any]) -> None:
    await pressed(page, "Move chapter 2 up")

    await page.wait_for(COMES, f"({FOCUSED}) === 'Move chapter 1 up'")
    await page.keys(Keys.ENTER)  # it is already at the top
    assert await page.script(f"return {FOCUSED}") == "Move chapter 1 up"


async def test_saving_the_outline_moves_the_focus_to_the_next_step(page: BrowserPage, outline: dict[str, Any]) -> None:
    await pressed(page, "Move chapter 2 up")
    await page.wait_for(COMES, f"({FOCUSED}) === 'Move chapter 1 up'")
    await pressed(page, "Save outline")

    await page.wait_for(COMES, "document.activeElement.matches('.row')")
    assert "Write the chapters" in await page.script("return document.activeElement.innerText")


@pytest.mark.parametrize("key", [Keys.ENTER, Keys.ESCAPE], ids=["cancelled", "escaped"])
async def test_a_closed_dialog_returns_the_focus_to_its_button(
    page: BrowserPage, outline: dict[str, Any], key: str
) -> None:
    await pressed(page, "Start over")
    await page.wait_for(COMES, "document.activeElement.innerText === 'Cancel'")
    await page.keys(key)

    await page.wait_for(COMES, "document.activeElement.innerText === 'Start over'")
    assert not await page.script("return document.querySelector('dialog')")


async def test_saving_the_outline_keeps_the_place(page: BrowserPage, outline: dict[str, Any]) -> None:
    await page.width(390, 500)
    await page.fill("Title", "The Ferry")
    before = await page.script("return scrollY")
    await page.press("Save outline")

    await page.wait_for(COMES, "document.activeElement.matches('.row')")
    assert await page.script("return scrollY") == before


async def test_the_focus_stays_in_the_view_when_the_focused_element_disappears(page: BrowserPage, account: Api) -> None:
    book = await account.book()
    await account.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    await opened(page, f"books/{book['id']}/cover")

    await page.script("document.querySelector('.covers button').focus()")
    await page.keys(Keys.ENTER)
    await page.sees("Selected cover")

    await page.wait_for(COMES, "document.activeElement.tagName === 'H1'")


async def test_the_focus_moves_to_the_next_suggestion(page: BrowserPage, account: Api) -> None:
    book = await account.written()
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "She saw the the sea, and the the sky."})
    await page.open(f"books/{book['id']}/proof")
    await page.press("Check the book")
    await page.look()
    await page.until("document.querySelector('.left')?.dataset.left === '2'")

    await pressed(page, "Apply")

    await page.until("document.querySelector('.left')?.dataset.left === '1'")
    await page.wait_for(COMES, "document.activeElement.classList.contains('suggestion')")


async def test_going_back_restores_the_focus_and_the_scroll_position(page: BrowserPage, account: Api) -> None:
    for number in range(20):
        await account.book(title=f"Book {number}")
    await page.load()
    await page.until("document.querySelectorAll('.shelf a').length === 20")
    await page.wait_for(COMES, "document.activeElement.tagName === 'H1'")
    await page.fill("Search your books", "a whale")
    await page.sees("No book matches “a whale”.")
    await page.fill("Search your books", "")
    await page.script("scrollTo(0, 600)")
    await page.wait_for(COMES, "history.state?.y === 600")
    await page.script("document.querySelectorAll('.shelf a')[12].click()")
    await page.sees("Generate outline")
    assert await page.script("return scrollY") == 0

    await page.script("history.back()")

    await page.wait_for(COMES, "document.querySelector('.shelf') && scrollY === 600")
