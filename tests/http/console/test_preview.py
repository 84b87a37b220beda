"""The preview of the PDF's pages with the chosen settings."""

from __future__ import annotations

import re
from html import unescape

from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

SHOWN = "return [...document.querySelectorAll('.leaf img')].map((one) => one.alt)"


async def test_the_preview_shows_the_pages_of_the_pdf_with_the_chosen_settings(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written(title="The Salt Road")
    await page.open(f"books/{book['id']}/files")
    await page.press("File settings")
    await page.fill("Dedication", "For Ada")
    await page.fill("Font size (points)", "18")
    await page.open(f"books/{book['id']}/preview")

    await page.sees("Page 1 of")
    seen = await page.script(SHOWN)
    while await page.script("return !document.querySelector('.row.center button:last-child[aria-disabled]')"):
        shown = await page.script("return document.querySelector('.row.center').innerText")
        await page.press("Next")
        await page.until("document.querySelector('.row.center').innerText !== values[0]", shown)
        await page.misses("Preparing the page")
        seen += await page.script(SHOWN)

    look = {"settings": {"dedication": "For Ada", "font_size": 18}}
    pages = (await account.post(f"/books/{book['id']}/preview-data/", look)).body
    assert pages["page_count"] == len(seen)
    assert any("For Ada" in text for text in seen)


def alt(markup: str) -> str:
    return unescape(re.search('alt="([^"]*)"', markup).group(1))  # type: ignore[union-attr]


# The numbers and positions of the pages in a row, from the start of the line to its end.
SPREAD = """
return [...document.querySelectorAll(".leaf img")]
  .map((one) => ({ text: one.alt, left: one.getBoundingClientRect().left, width: one.naturalWidth }));
"""


async def test_a_right_to_left_book_is_previewed_from_right_to_left_with_its_own_settings(
    page: BrowserPage, visitor: Api
) -> None:
    account = await sign_in(page, visitor)
    book = await account.written(title="الملح والبحر", content_language="ar")
    look = {"dedication": "إلى آدا", "font_size": 18, "chapter_starts": "any"}
    await account.patch(f"/books/{book['id']}/", {"export_settings": look})
    pages = (await account.post(f"/books/{book['id']}/preview-data/", {"settings": look})).body["pages"]
    plain = (await account.post(f"/books/{book['id']}/preview-data/", {"settings": {}})).body["pages"]
    await page.open(f"books/{book['id']}/preview")
    await page.sees("Page 1 of")

    await page.keys(Keys.ARROW_LEFT)
    await page.sees("Pages 2 and 3 of")
    await page.until("document.querySelectorAll('.leaf img').length === 2")
    second, third = await page.script(SPREAD)

    assert await page.script("return getComputedStyle(document.querySelector('.spread')).direction") == "rtl"
    assert second["left"] > third["left"]
    assert [second["text"], third["text"]] == [alt(each["html"]) for each in pages[1:3]]
    assert [alt(each["html"]) for each in plain[1:3]] != [second["text"], third["text"]]
    await page.keys(Keys.ARROW_RIGHT)
    await page.sees("Page 1 of")
