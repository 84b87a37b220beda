"""The story bible on the page: reading and changing it."""

from __future__ import annotations

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in


async def test_an_author_changes_the_bible_and_unsaved_changes_are_kept(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.outlined()
    path = f"/books/{book['id']}/bible/"
    people = (await account.get(path)).body["people"]
    await page.open(f"books/{book['id']}/bible")

    await page.fill("Voice", "In the second person.")
    await page.fill("Avoid", "Rain on the last page.")
    await page.press("Add a person")
    await page.script("[...document.querySelectorAll('details[open] input')].at(-1).focus()")
    await page.keys("Ada")
    await page.sees("Unsaved changes are stored on this device.")
    assert await page.findings() == []
    await page.load(f"books/{book['id']}/bible")
    await page.sees("Unsaved changes are stored on this device.")
    await page.press("Save")
    await page.sees("Saved.")

    bible = (await account.get(path)).body
    assert (bible["voice"], bible["avoid"]) == ("In the second person.", ["Rain on the last page."])
    assert bible["people"] == [*people, {"name": "Ada"}]
    assert bible["authored"] == ["voice", "people", "avoid"]
    await page.sees("Written by you.")


async def test_an_author_sees_which_passages_contradict_the_bible_and_opens_them(
    page: BrowserPage, visitor: Api
) -> None:
    account = await sign_in(page, visitor)
    book = await account.outlined()
    chapter = book["chapters"][0]
    await account.patch(f"/chapters/{chapter['id']}/", {"content": "At the weigh bridge it was quiet."})
    await page.open(f"books/{book['id']}/bible")

    await page.fill("Avoid", "quiet")
    await page.press("Save")
    await page.sees("The bible says to avoid “quiet”.")

    assert await page.findings() == []
    await page.press("Chapter 1")
    await page.sees("1 quality note")
