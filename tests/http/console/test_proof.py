"""Proofreading reports on the page."""

from __future__ import annotations

import asyncio

from tests.http.conftest import Api, OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in
from tests.http.test_proofreading import Editor, finding

SLIPS = "She walked to the the river. The boat was was gone. Nobody had had seen it leave the the quay."
# So many previews have been loaded. One that is requested while its suggestion is being applied gets a 409.
PREVIEWED = "performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/preview/')).length >= values[0]"


async def test_each_suggestion_is_shown_and_then_applied_or_dismissed(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    chapter = book["chapters"][0]
    await account.patch(f"/chapters/{chapter['id']}/", {"content": SLIPS})
    await page.open(f"books/{book['id']}/proof")

    await page.sees("This service has no language model, so a check runs only the built-in rules")
    await page.misses("Have an editor read it")
    await check(page, account, book["id"])
    await page.until("document.querySelector('.suggestion ins')")
    count = await left(page)
    await page.script("document.activeElement.blur()")
    await page.until(PREVIEWED, 1)
    await page.keys("a")
    await page.until("Number(document.querySelector('[role=status].left').dataset.left) === values[0]", count - 1)
    await page.until(PREVIEWED, 2)
    await page.keys("d")
    await page.until("Number(document.querySelector('[role=status].left').dataset.left) === values[0]", count - 2)

    after = (await account.get(f"/chapters/{chapter['id']}/")).body["content"]
    assert len(after) < len(SLIPS)
    report = (await account.get(f"/proofreading-reports/?book={book['id']}")).body[0]
    listed = (await account.get(f"/proofreading-reports/{report['id']}/suggestions/")).body["results"]
    assert {one["status"] for one in listed} >= {"applied", "dismissed"}


async def test_one_button_applies_all_safe_suggestions(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    path = f"/chapters/{book['chapters'][0]['id']}/"
    await account.patch(path, {"content": "She walked , alone. to the the river.\n\nThe boat was gone , they said."})
    await page.open(f"books/{book['id']}/proof")

    await check(page, account, book["id"])
    await page.press("Apply safe suggestions")
    await page.press("Apply all")
    await page.sees("2 changes applied.")

    content = (await account.get(path)).body["content"]
    assert content == "She walked, alone. to the the river.\n\nThe boat was gone, they said."


async def test_a_suggestion_in_verse_is_shown_line_by_line(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written(genre="Poetry", chapter_count=1)
    await account.patch(
        f"/chapters/{book['chapters'][0]['id']}/", {"content": "She walked to\n    the the river,\nalone."}
    )
    await page.open(f"books/{book['id']}/proof")

    await check(page, account, book["id"])
    await page.until("document.querySelector('.reading-line')?.innerText.includes('alone')")  # the preview is there

    shown = await page.script("return document.querySelector('.reading-line').innerText")
    assert shown == "She walked to\n    the the the river,\nalone."


async def test_the_author_corrects_a_finding_without_a_replacement(open_page: OpenPage, open_api: OpenApi) -> None:
    editor = Editor()
    api = await open_api(model=editor)
    page = await open_page(api)
    account = await sign_in(page, api)
    book = await account.written()
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": SLIPS})
    editor.findings = [finding(1, "She walked to the", severity="critical"), finding(1, "The boat", "No boat")]
    await page.open(f"books/{book['id']}/proof")

    await check(page, account, book["id"], "Have an editor read it")
    await page.sees("2 findings left. Showing number 1.")
    await page.until("document.querySelector('.suggestion mark')?.textContent === 'She walked to the'")
    await page.sees("It was dark before. Say that it was lit.")
    await page.sees("Edit the chapter")
    assert await page.findings() == []
    await page.script("document.activeElement.blur()")
    await page.keys("a")
    await page.keys("d")
    await page.sees("1 finding left. Showing number 1.")
    await page.keys("a")
    await page.sees("No findings left.")

    after = (await account.get(f"/chapters/{book['chapters'][0]['id']}/")).body["content"]
    assert after == SLIPS.replace("The boat", "No boat")
    await page.script("document.querySelectorAll('select')[0].value = 'applied'")
    await page.script("document.querySelectorAll('select')[0].dispatchEvent(new Event('change', { bubbles: true }))")
    await page.sees("1 finding applied.")
    await page.until("document.querySelector('.suggestion ins')?.textContent === 'No boat'")


async def test_a_rewritten_passage_can_be_compared_and_applied(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    path = f"/chapters/{book['chapters'][0]['id']}/"
    await account.patch(path, {"content": SLIPS})
    asked = {"passage": {"start": 0, "end": 29}, "instructions": "Calmer."}
    new = (await account.post(f"{path}regenerate/", asked)).body["suggested_text"]
    await page.open(f"books/{book['id']}/proof")

    await page.sees("One passage, rewritten as you asked.")
    await page.sees("Compare the new passage with yours")
    await page.misses("Severity")
    await page.press("Apply")

    await page.sees("You applied the new passage.")
    assert (await account.get(path)).body["content"].startswith(new)


# Replaces the status of every report with that of a check in progress.
RUNNING = """
const send = window.fetch;
window.fetch = async (url, told) => {
  const reply = await send(url, told);
  if (reply.status !== 200 || !/\\/proofreading-reports\\/\\?book=/.test(url)) return reply;
  const body = (await reply.json()).map((report) => ({ ...report, status: "running", progress: 50 }));
  return new Response(JSON.stringify(body), { headers: reply.headers });
};
"""


async def test_a_book_cannot_be_checked_again_during_a_check(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    await page.script(RUNNING)
    await page.open(f"books/{book['id']}/proof")
    await page.press("Check the book")
    await page.sees("The book is being checked.")

    await page.until("document.querySelector('button[aria-disabled=true]')?.innerText === 'Check the book again'")
    await page.press("Check the book again")

    await page.misses("Please wait")
    assert len((await account.get(f"/proofreading-reports/?book={book['id']}")).body) == 1


async def check(page: BrowserPage, account: Api, book_id: int, button: str = "Check the book") -> None:
    """Make the page poll as soon as the report is ready; by itself it polls every 15 seconds."""
    await page.press(button)
    reports = f"/proofreading-reports/?book={book_id}"
    async with asyncio.timeout(30):
        while "completed" not in [one["status"] for one in (await account.get(reports)).body]:  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.05)
    await page.look()


async def left(page: BrowserPage) -> int:
    return int(await page.script("return Number(document.querySelector('[role=status].left').dataset.left)"))
