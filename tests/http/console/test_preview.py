"""The pages of the PDF, as the chosen look has them."""

from __future__ import annotations

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

SHOWN = "return [...document.querySelectorAll('.leaf img')].map((one) => one.alt)"


async def test_the_preview_shows_the_pages_of_the_pdf_in_the_chosen_look(page: BrowserPage, visitor: Api) -> None:
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
