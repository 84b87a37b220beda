"""Editing the outline in a browser: saving removes no written chapter without confirmation."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

QUESTION = "Delete written chapters?"


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def book(page: BrowserPage, account: Api) -> dict[str, Any]:
    """A book of three chapters whose first one is written. Its outline is open."""
    book = await account.outlined(chapter_count=3)
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "It rained."})
    await page.open(f"books/{book['id']}/outline")
    await page.sees("Write the remaining 2 chapters")
    return book


async def stored(account: Api, book: dict[str, Any]) -> list[dict[str, Any]]:
    return list((await account.get(f"/books/{book['id']}/")).body["chapters"])


async def saved(page: BrowserPage) -> None:
    await page.press("Save outline")
    await page.misses("Unsaved changes are stored on this device.")


async def test_a_written_chapter_is_removed_only_after_confirmation(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await page.press("Remove chapter 1")
    await page.press("Save outline")
    await page.sees(QUESTION)
    await page.sees("1 written chapter is no longer in this outline.")
    await page.press("Cancel")
    assert len(await stored(account, book)) == 3

    await page.press("Save outline")
    await page.press("Delete and save")

    await page.misses("Unsaved changes are stored on this device.")
    await page.misses(QUESTION)
    assert [chapter["id"] for chapter in await stored(account, book)] == [one["id"] for one in book["chapters"][1:]]


async def test_a_chapter_without_text_is_removed_without_confirmation(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await page.press("Remove chapter 2")
    await saved(page)

    assert len(await stored(account, book)) == 2


async def test_removing_a_chapter_that_was_written_meanwhile_asks_for_confirmation(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await page.press("Remove chapter 2")
    await account.patch(f"/chapters/{book['chapters'][1]['id']}/", {"content": "It snowed."})

    await page.press("Save outline")

    await page.sees("1 written chapter is no longer in this outline.")
    assert len(await stored(account, book)) == 3


@pytest.mark.parametrize("reloaded", [False, True])
async def test_saving_the_outline_keeps_chapters_that_were_added_meanwhile(
    page: BrowserPage, account: Api, book: dict[str, Any], reloaded: bool
) -> None:
    await page.press("Remove chapter 2")
    added = {"chapters": [{"title": "Coda"}]}
    coda = (await account.post(f"/books/{book['id']}/update-outline/", added)).body["chapters"][-1]
    await account.patch(f"/chapters/{coda['id']}/", {"content": "The end."})
    if reloaded:
        await page.load(f"books/{book['id']}/outline")

    await saved(page)

    first, _, third = book["chapters"]
    chapters = await stored(account, book)
    assert [chapter["id"] for chapter in chapters] == [first["id"], third["id"], coda["id"]]
    assert [chapter["content"] for chapter in chapters] == ["It rained.", "", "The end."]


async def test_a_chapter_that_was_added_meanwhile_can_be_removed(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await page.press("Move chapter 1 down")
    await account.post(f"/books/{book['id']}/update-outline/", {"chapters": [{"title": "Coda"}]})
    await page.load(f"books/{book['id']}/outline")
    await page.tab_to("Remove chapter 4")
    await page.keys(Keys.ENTER)

    await saved(page)

    assert len(await stored(account, book)) == 3


async def test_the_page_says_that_a_book_was_deleted_elsewhere(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    page.expected.append("404")
    await account.delete(f"/books/{book['id']}/")

    await page.open("new")
    await page.open(f"books/{book['id']}/outline")

    await page.sees("Not found. It was deleted")


async def test_unsaved_rework_instructions_are_restored(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    wish = "What should change? (1 chapter)"
    await page.press("Change with AI: chapter 2")
    await page.until(
        "document.querySelectorAll('.entry')[1].querySelector('.rework')"
    )  # the editor of the chapter whose rework was requested
    await page.fill(wish, "More rain.")
    await page.load(f"books/{book['id']}/outline")

    await page.press("Change with AI: chapter 2")
    assert await page.value(wish) == "More rain."
    await page.press("Change 1 chapter")
    await page.misses(wish)

    await page.press("Change with AI: chapter 2")
    assert await page.value(wish) == ""


PLAN = {
    "scenes": [{"place": "The quay, at dusk", "people": "Mara", "want": "To leave", "turn": "She stays"}],
    "sets_up": ["the key under the stone"],
    "last_image": "A lamp goes out.",
}


async def test_saving_the_plan_of_a_chapter_leaves_other_plans_unchanged(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    numbers = [{"chapter_number": number, "plan": PLAN} for number in (2, 3)]
    await account.post(f"/books/{book['id']}/update-outline/", {"chapters": numbers})
    await page.load(f"books/{book['id']}/outline")
    await page.misses("The quay, at dusk")

    await page.press("Chapter plan of chapter 2: 1 scene, 1 set-up")
    assert await page.value("Place") == "The quay, at dusk"
    await page.fill("Turn", "She goes")
    await page.fill("Pays off", "the letter\n\nthe debt")
    await page.fill("Last image", "")
    assert await page.findings() == []
    await saved(page)

    plans = [chapter["plan"] for chapter in await stored(account, book)]
    changed = {**PLAN, "scenes": [{**PLAN["scenes"][0], "turn": "She goes"}], "pays_off": ["the letter", "the debt"]}
    del changed["last_image"]
    assert plans == [{}, changed, PLAN]
