"""The facts of the story on the page: reading them and deciding about them."""

from __future__ import annotations

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

NARROW = 390  # pixels, as on a phone


async def test_an_author_corrects_a_fact_and_marks_it_as_intended(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written(chapter_count=2, target_word_count=600)
    path = f"/books/{book['id']}/facts/"
    facts = (await account.get(path)).body
    first, own = facts[0], [fact for fact in facts if fact["chapter_number"] == 1]
    await page.width(NARROW)
    await page.open(f"books/{book['id']}/bible")

    await page.press(f"Chapter 1: {len(own)} fact{'s' if len(own) > 1 else ''}")
    await page.sees(first["quote"])
    await page.press(f"Change: {first['subject']}, {first['value']}")
    await page.fill("Correct value", "the one who left")
    await page.script("[...document.querySelectorAll('.facts select')].at(-1).value = 'intended'")
    await page.script(
        "[...document.querySelectorAll('.facts select')].at(-1).dispatchEvent(new Event('change', {bubbles: true}))"
    )
    await page.fill("Reason", "She lies.")
    assert await page.findings() == []
    assert await page.script("return document.documentElement.scrollWidth") <= NARROW
    await page.press("Save fact")
    await page.sees("Intended.")

    assert (await account.get(path)).body[0] == {
        **first, "value": "the one who left", "status": "intended", "reason": "She lies."
    }  # fmt: skip
