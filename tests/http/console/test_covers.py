"""Covers: accessible names, titles on placeholders, and the description for the next ones."""

from __future__ import annotations

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

NAMES = "return [...document.querySelectorAll('.covers button')].map((one) => one.getAttribute('aria-label'))"

LINES = """
const words = document.createRange();
words.selectNodeContents(document.querySelector(arguments[0]));
return words.getClientRects().length;
"""


async def test_covers_of_the_same_style_have_different_names(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.outlined()
    await account.post(f"/books/{book['id']}/generate-cover/", {"count": 2, "style": "woodcut"})
    await page.open(f"books/{book['id']}/cover")
    await page.until("document.querySelectorAll('.covers img').length === 2")
    assert await page.script(NAMES) == [f"Choose cover {number}, style: woodcut" for number in (1, 2)]

    await page.press("Choose cover 2, style: woodcut")
    await page.sees("Selected cover")

    covers = (await account.get(f"/books/{book['id']}/")).body["covers"]
    assert [cover["is_selected"] for cover in covers] == [False, True]


async def test_the_longest_word_of_a_title_is_not_broken(page: BrowserPage, visitor: Api) -> None:
    await (await sign_in(page, visitor)).book(title="Incomprehensibilities")
    await page.load()
    await page.until("document.querySelector('.lettering b')?.firstChild")

    assert await page.script(LINES, ".lettering b") == 1
    await page.width(390)
    assert await page.script(LINES, ".shelf .title") == 1


async def test_the_cover_description_is_kept(page: BrowserPage, visitor: Api) -> None:
    book = await (await sign_in(page, visitor)).outlined()
    await page.open(f"books/{book['id']}/cover")
    await page.fill("Style", "woodcut")
    await page.fill("What it should show", "A heron")
    await page.open(f"books/{book['id']}/details")
    await page.sees("Duplicate")

    await page.load(f"books/{book['id']}/cover")

    await page.named("Generate 3 covers")
    assert [await page.value(name) for name in ("Style", "What it should show")] == ["woodcut", "A heron"]
