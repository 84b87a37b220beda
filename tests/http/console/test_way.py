"""From an idea to files in a browser, by keyboard alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from selenium.webdriver.common.keys import Keys

from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

PDF = b"%PDF-"
NARROWEST = 320  # pixels; the other tests use 1280


async def test_an_idea_becomes_files_by_keyboard_alone(page: BrowserPage, tmp_path: Path) -> None:
    await page.width(NARROWEST)
    await page.downloads_to(tmp_path)

    await page.tab_to("What is your book about?")
    await page.keys("A widow smuggles salt over the Alps.")
    await page.tab_to("Continue")
    await page.keys(Keys.ENTER)

    await page.sees("Create a book")
    await page.tab_to("Title")
    await page.keys("The Salt Road")
    await page.tab_to("Chapters")
    await page.keys(Keys.CONTROL + "a", Keys.NULL, "3")
    await page.tab_to("Total words")
    await page.keys("900")
    await page.tab_to("Create an account to continue")
    await page.keys(Keys.ENTER)

    await page.sees("Create an account")
    for field, text in (("Username", "ada"), ("E-mail address", "ada@example.com"), ("Password", "correct horse 7")):
        await page.tab_to(field)
        await page.keys(text)
    await page.keys(Keys.ENTER)

    await page.sees("Create a book")
    assert await page.value("Title") == "The Salt Road"
    await page.tab_to("Create book")
    await page.keys(Keys.ENTER)
    await page.tab_to("Generate outline")
    await page.keys(Keys.ENTER)

    await page.sees("Write the chapters")
    await page.sees("sample text. They do not follow your idea.")
    first = await page.script("return document.querySelector('.entry input').value")
    await page.tab_to("Move chapter 1 down")
    await page.keys(Keys.ENTER)
    await page.tab_to("Save outline")
    await page.keys(Keys.ENTER)
    await page.sees("Write the chapters")
    second = await page.script("return document.querySelectorAll('.entry input[maxlength]')[1].value")
    assert second == first

    await page.tab_to("Write the chapters")
    await page.keys(Keys.ENTER)
    await page.sees("Writing")
    await page.until("location.hash.endsWith('/writing')")
    await page.look()
    await page.sees("Completed. All 3 chapters are written.")

    await page.tab_to("Read the book")
    await page.keys(Keys.ENTER)
    await page.sees("Read from the beginning")
    await page.keys("j")
    await page.until("document.querySelector('article h1')")
    await page.keys("e")
    await page.tab_to("Chapter text (Markdown)")
    await page.keys(Keys.CONTROL + Keys.HOME, Keys.NULL, "Salt. ")
    await page.keys(Keys.CONTROL + "s", Keys.NULL)
    await page.sees("Saved.")
    await page.tab_to("Read")
    await page.keys(Keys.ENTER)
    await page.until("document.querySelector('article')?.innerText.includes('Salt. ')")

    await page.tab_to("The Salt Road")
    await page.keys(Keys.ENTER)
    await page.tab_to("Files")
    await page.keys(Keys.ENTER)
    for name in ("PDF", "EPUB", "Word"):
        await page.tab_to(f"Download as {name}")
        await page.keys(Keys.ENTER)
        await page.sees("Download")
    files = await _files(tmp_path, 3)
    assert {file.name for file in files} == {"The Salt Road.pdf", "The Salt Road.epub", "The Salt Road.docx"}
    assert (tmp_path / "The Salt Road.pdf").read_bytes().startswith(PDF)
    assert await page.script("return document.documentElement.scrollWidth") <= NARROWEST


async def test_a_visitor_reads_the_sample_book(page: BrowserPage, visitor: Api) -> None:
    demo = (await visitor.get("/books/demo/")).body

    await page.press("Read a sample book first")
    await page.heads(demo["title"])
    await page.press("Start reading")
    await page.heads(demo["chapters"][0]["title"])
    await page.keys("j")
    await page.heads(demo["chapters"][1]["title"])


async def _files(folder: Path, number: int) -> list[Path]:
    """The files that the browser has downloaded, once they are complete."""
    async with asyncio.timeout(20):
        while True:
            files = [path for path in folder.iterdir() if path.suffix not in (".crdownload", ".tmp", ".pem")]
            if len(files) == number:
                return files
            await asyncio.sleep(0.1)


async def test_a_book_without_a_title_begins_as_untitled(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    await page.open("new")
    await page.fill("What is it about?", "A widow smuggles salt over the Alps.")

    await page.press("Create book")

    await page.named("Generate outline")
    assert [book["title"] for book in (await account.get("/books/")).body] == ["Untitled"]


# What a finger cannot hit well.
SMALL = """
const all = "a, button, input, select, textarea, summary, label.check";
return [...document.querySelectorAll(all)].filter((one) => one.checkVisibility() && !one.closest(".check input, .skip"))
  .filter((one) => !one.matches(".check input, .skip, .hint a, td a"))
  .filter((one) => Math.min(one.offsetHeight, one.offsetWidth) < 44 && one.offsetHeight < 44)
  .map((one) => `${one.tagName} ${one.innerText} ${one.offsetWidth} ${one.offsetHeight}`);
"""


async def test_nothing_is_too_low_for_a_finger_on_a_phone(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written()
    chapter = f"books/{book['id']}/chapters/{book['chapters'][0]['id']}"
    await page.width(390, 844)
    await page.touch(True)

    found = {}
    for view in (
        "new",
        "account",
        f"books/{book['id']}/outline",
        f"books/{book['id']}/read",
        f"books/{book['id']}/proof",
        f"books/{book['id']}/files",
        chapter,
        f"{chapter}/edit",
    ):
        await page.open(view)
        await page.until("!document.body.innerText.includes('Loading …')")
        found[view] = await page.script(SMALL)
    await page.touch(False)

    assert {view: small for view, small in found.items() if small} == {}


async def test_the_head_of_a_book_leaves_most_of_a_phone_to_the_view(page: BrowserPage, visitor: Api) -> None:
    book = await (await sign_in(page, visitor)).written(title="The Salt Road")
    await page.width(390, 844)
    await page.touch(True)
    await page.open(f"books/{book['id']}/read")
    await page.named("Preview pages")

    top = await page.script("return document.querySelector('h1').getBoundingClientRect().top")
    await page.touch(False)
    assert top < 270


async def test_an_announcement_leaves_the_lower_half_of_a_phone_free(page: BrowserPage, visitor: Api) -> None:
    book = await (await sign_in(page, visitor)).outlined()
    await page.width(390, 844)
    await page.open(f"books/{book['id']}/details")
    await page.fill("Title", "The Salt Road")
    await page.press("Save")

    await page.until("document.querySelector('.said')?.getBoundingClientRect().bottom < 422")
