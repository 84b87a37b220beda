"""Book details and export settings: kept while unsaved, saved and discarded. Also downloads, copies and the blurb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

# Records the settings of each requested export.
HEARD = """
window.asked = [];
const send = window.fetch;
window.fetch = (url, told) => {
  if (url.includes("/export_")) window.asked.push(JSON.parse(told.body).settings);
  return send(url, told);
};
"""


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def book(account: Api) -> dict[str, Any]:
    return await account.written(title="The Salt Road")


async def test_unsaved_book_details_are_restored(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    await page.open(f"books/{book['id']}/details")
    await page.fill("Title", "The Salt Roads")
    await page.open(f"books/{book['id']}/files")
    await page.load(f"books/{book['id']}/details")

    await page.sees("Unsaved changes are stored on this device.")
    assert await page.value("Title") == "The Salt Roads"
    await account.patch(f"/books/{book['id']}/", {"subtitle": "Changed elsewhere"})
    await page.press("Save")
    await page.named("Saved")

    saved = (await account.get(f"/books/{book['id']}/")).body
    assert (saved["title"], saved["subtitle"]) == ("The Salt Roads", "Changed elsewhere")
    assert "details-edit" not in await page.script("return JSON.stringify(localStorage)")


async def test_the_download_view_lists_missing_chapters(page: BrowserPage, account: Api, book: dict[str, Any]) -> None:
    await page.open(f"books/{book['id']}/files")
    await page.sees("For e-readers and phones.")
    await page.misses("no text yet")

    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": ""})
    await page.load(f"books/{book['id']}/files")

    await page.sees("Chapter 1 has no text yet and is left out of the files.")


async def test_unsaved_book_details_can_be_discarded(page: BrowserPage, book: dict[str, Any]) -> None:
    await page.open(f"books/{book['id']}/details")
    await page.fill("Title", "The Salt Roads")

    await page.press("Undo changes")

    await page.named("Saved")
    assert await page.value("Title") == "The Salt Road"


async def test_export_settings_are_saved_with_the_book(
    page: BrowserPage, account: Api, book: dict[str, Any], tmp_path: Path
) -> None:
    look = {"dedication": "For Ada", "line_spacing": 1.5}
    await page.downloads_to(tmp_path)
    await page.open(f"books/{book['id']}/files")
    await page.press("File settings")
    await page.fill("Dedication", "For Ada")
    await page.fill("Line spacing", "1.5")
    await page.fill("Font size (points)", "12")
    await page.fill("Font size (points)", "")
    await page.keys(Keys.TAB)
    await page.sees("Saved with the book.")

    assert (await account.get(f"/books/{book['id']}/")).body["export_settings"] == look
    assert "files-look" not in await page.script("return JSON.stringify(localStorage)")
    await page.load(f"books/{book['id']}/files")
    assert await page.value("Dedication") == "For Ada"
    await page.script(HEARD)
    await page.press("Download as PDF")
    await page.until("window.asked.length === 1")
    assert await page.script("return window.asked[0]") == look
    await page.sees("Downloaded “")
    await page.press("Reset to defaults")
    await page.misses("Saved with the book.")
    assert (await account.get(f"/books/{book['id']}/")).body["export_settings"] == {}


async def test_unsaved_export_settings_are_kept_on_the_device(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    page.expected.append("ERR_INTERNET_DISCONNECTED")
    await page.open(f"books/{book['id']}/files")
    await page.press("File settings")
    await page.offline(True)
    await page.fill("Dedication", "For Ada")
    await page.keys(Keys.TAB)
    await page.sees("Not saved yet. Stored on this device.")
    await account.patch(f"/books/{book['id']}/", {"export_settings": {"publisher": "Set elsewhere"}})

    await page.offline(False)

    await page.sees("Saved with the book.")
    saved = (await account.get(f"/books/{book['id']}/")).body["export_settings"]
    assert saved == {"publisher": "Set elsewhere", "dedication": "For Ada"}


async def test_the_ai_declaration_for_publishers_is_shown(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    declared = (await account.get(f"/books/{book['id']}/declaration/")).body["statement"]
    await page.open(f"books/{book['id']}/files")
    await page.press("AI content: what to tell publishers")

    await page.sees(declared)
    await page.sees("Sample text")


async def test_a_copy_has_a_different_title_from_its_original(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    await page.open(f"books/{book['id']}/details")
    await page.press("Duplicate")
    await page.sees("You are now in the copy.")
    await page.heads("Details · Copy of The Salt Road")

    await page.open("")

    await page.sees("Copy of The Salt Road")
    await page.misses("Draft")


async def test_a_print_cover_can_be_downloaded(
    page: BrowserPage, account: Api, book: dict[str, Any], tmp_path: Path
) -> None:
    page.expected.append("400")
    await page.downloads_to(tmp_path)
    await page.open(f"books/{book['id']}/files")
    await page.press("File settings")
    await page.named("Font")
    await page.misses("Chapters start")
    profile = await page.named("Profile")
    await page.script("arguments[0].value = 'print'; arguments[0].dispatchEvent(new Event('change'))", profile)
    await page.sees("For a printing house. Choose the Screen profile for screens.")
    await page.named("Paper")
    await page.named("Chapters start")
    await page.named("Add bleed")

    await page.script(HEARD)
    await page.fill("ISBN", "123")
    await page.press("Download print cover")
    await page.sees("The file settings below are not valid. Correct: ISBN.")
    await page.until("document.querySelector('.wrong')?.innerText === 'Must be a valid ISBN-10 or ISBN-13.'")
    await page.sees("Not saved yet.")
    assert (await account.get(f"/books/{book['id']}/")).body["export_settings"] == {"profile": "print"}
    await page.fill("ISBN", "978-3-16-148410-0")
    await page.misses("Must be a valid ISBN")
    await page.script("window.asked = []")
    await page.press("Download print cover")

    await page.until("window.asked.length === 1")
    look = {"profile": "print", "isbn": "978-3-16-148410-0"}
    assert await page.script("return window.asked[0]") == {**look, "cover_wrap": True}
    await page.sees("Saved with the book.")
    assert (await account.get(f"/books/{book['id']}/")).body["export_settings"] == look


async def test_the_blurb_of_a_finished_book_can_be_read_changed_and_cleared(
    page: BrowserPage, account: Api, book: dict[str, Any]
) -> None:
    path = f"/books/{book['id']}/"
    await page.open(f"books/{book['id']}/details")
    await page.sees("The text on the back cover and in shops.")
    assert await page.value("Blurb") == book["blurb"] != ""

    await page.fill("Blurb", "A widow crosses the Alps.")
    await page.press("Save")
    await page.named("Saved")
    assert (await account.get(path)).body["blurb"] == "A widow crosses the Alps."

    await page.fill("Blurb", "x")
    await page.keys(Keys.BACKSPACE)
    await page.press("Save")
    await page.named("Saved")
    assert (await account.get(path)).body["blurb"] == ""
