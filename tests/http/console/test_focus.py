"""Where the focus is after each change, for who has no mouse and for who hears the page; and the way back."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

# What no change of the document tells of.
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
    """Whoever opens a view begins at its heading."""
    await page.open(view)
    await page.wait_for(COMES, "document.activeElement.tagName === 'H1'")


async def pressed(page: BrowserPage, name: str) -> None:
    """By the keyboard."""
    await page.script("arguments[0].focus()", await page.named(name))
    await page.keys(Keys.ENTER)


async def test_a_new_chapter_is_where_one_types_on(page: BrowserPage, outline: dict[str, Any]) -> None:
    await pressed(page, "Add a chapter")
    await page.wait_for(COMES, "document.activeElement.tagName === 'INPUT'")
    await page.keys("The Last One")

    await page.until("[...document.querySelectorAll('.entry input')].some((one) => one.value === 'The Last One')")


@pytest.mark.parametrize(("number", "there"), [(1, "Remove chapter 1"), (3, "Remove chapter 2")])
async def test_a_chapter_that_goes_leaves_the_focus_beside_it(
    page: BrowserPage, outline: dict[str, Any], number: int, there: str
) -> None:
    await pressed(page, f"Remove chapter {number}")

    await page.wait_for(COMES, f"({FOCUSED}) === '{there}'")


async def test_a_chapter_that_has_come_to_the_top_keeps_the_focus(page: BrowserPage, outline: dict[str, Any]) -> None:
    await pressed(page, "Move chapter 2 up")

    await page.wait_for(COMES, f"({FOCUSED}) === 'Move chapter 1 up'")
    await page.keys(Keys.ENTER)  # it can go no further
    assert await page.script(f"return {FOCUSED}") == "Move chapter 1 up"


async def test_a_saved_outline_is_left_for_what_comes_next(page: BrowserPage, outline: dict[str, Any]) -> None:
    await pressed(page, "Move chapter 2 up")
    await page.wait_for(COMES, f"({FOCUSED}) === 'Move chapter 1 up'")
    await pressed(page, "Save outline")

    await page.wait_for(COMES, "document.activeElement.matches('.row')")
    assert "Write the book" in await page.script("return document.activeElement.innerText")


async def test_what_took_itself_away_leaves_the_focus_in_the_view(page: BrowserPage, account: Api) -> None:
    book = await account.book()
    await account.post(f"/books/{book['id']}/generate-cover/", {"count": 1})
    await opened(page, f"books/{book['id']}/cover")

    await page.script("document.querySelector('.covers button').focus()")
    await page.keys(Keys.ENTER)
    await page.sees("Selected cover")

    await page.wait_for(COMES, "document.activeElement.tagName === 'H1'")


async def test_the_next_suggestion_has_the_focus_of_the_one_before(page: BrowserPage, account: Api) -> None:
    book = await account.written()
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "She saw the the sea, and the the sky."})
    await page.open(f"books/{book['id']}/proof")
    await page.press("Check the book")
    await page.look()
    await page.until("document.querySelector('.left')?.dataset.left === '2'")

    await pressed(page, "Apply")

    await page.until("document.querySelector('.left')?.dataset.left === '1'")
    await page.wait_for(COMES, "document.activeElement.classList.contains('suggestion')")


async def test_the_way_back_leads_to_where_one_was(page: BrowserPage, account: Api) -> None:
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
