"""Productions and picture books on the page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from selenium.webdriver.common.keys import Keys

from bookgen.actors.status import DOING
from bookgen.http.console.static import assets
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from tests.fakes.image_server import ImageServer
from tests.http.conftest import Api, OpenApi
from tests.http.console.conftest import OpenPage, sign_in
from tests.http.console.test_axe import in_each_mode
from tests.http.test_generation import HeldModel

SPREADS = "document.querySelectorAll('.spreads img').length === 4"


@pytest.fixture
async def painting(open_api: OpenApi) -> AsyncIterator[Api]:
    """A service with a separate image server."""
    async with ImageServer() as server:
        settings = ModelSettings(access={"openai": Access("key", server.url)})
        yield await open_api(images=build_image_model("openai:gpt-image-2.5-flare", settings))


async def test_a_picture_book_can_be_made_by_keyboard_alone(open_page: OpenPage, painting: Api) -> None:
    page = await open_page(painting)
    account = await sign_in(page, painting)
    await page.open("new")
    await page.tab_to("Create a children’s picture book instead")
    await page.keys(Keys.ENTER)

    await page.sees("Each two-page spread")
    told = {"Title": "Pip", "What is it about?": "Being brave.", "Who is in it?": "Pip, a small mouse\nOtto, an owl"}
    for field, text in told.items():
        await page.tab_to(field)
        await page.keys(text)
    await page.tab_to("Pages")
    await page.keys(Keys.HOME)
    findings = await in_each_mode(page)
    await page.tab_to("Create book")
    await page.keys(Keys.ENTER)
    await page.sees("The next step is a plan of 4 spreads")
    await page.tab_to("Generate outline")
    await page.keys(Keys.ENTER)
    await page.tab_to("Write the chapters")
    await page.keys(Keys.ENTER)
    await page.until("location.hash.endsWith('/writing')")
    [book] = (await account.get("/books/")).body
    await account.until(book["id"], "completed")
    await page.look()

    await page.tab_to("Read the book")
    await page.keys(Keys.ENTER)
    await page.until("document.querySelector('h1')?.textContent === 'Read and edit'")
    await page.until(SPREADS)
    findings += await in_each_mode(page)
    await page.tab_to("Spread 2")
    await page.keys(Keys.ENTER)
    await page.until("document.querySelector('article img')?.complete")
    assert [each["name"] for each in book["characters"]] == ["Pip", "Otto"]
    assert findings == []


async def test_a_production_shows_its_phase_and_resumes_as_a_production_after_a_stop(
    open_page: OpenPage, open_api: OpenApi
) -> None:
    author = HeldModel()
    api = await open_api(model=author)
    page = await open_page(api)
    account = await sign_in(page, api)
    book = await account.outlined()
    await page.open(f"books/{book['id']}/writing")

    await page.press("Write, proofread and make files")
    await page.press("Start")
    await author.asked.wait()
    await page.until("document.querySelector('.phases [aria-current]')?.textContent === 'Text'")
    await page.press("Stop")
    await page.until("document.querySelector('dialog')")
    await page.script("document.querySelector('dialog .primary').click()")
    await page.sees("Stopped.")
    await page.press("Resume")
    await page.sees("Pause")

    status = (await account.get(f"/books/{book['id']}/generation-status/")).body
    assert (status["generation_status"], status["mode"]) == ("running", "automated")


# Replaces the status of a finished book with that of a book being proofread.
PROOFREAD = """
const send = window.fetch;
window.fetch = async (url, told) => {
  const reply = await send(url, told);
  if (reply.status !== 200 || !/\\/books\\/\\d+\\/(generation-status\\/)?$/.test(url)) return reply;
  const body = await reply.json();
  Object.assign(body.generation_progress ?? body, {
    generation_status: "running", mode: "automated", estimated_seconds_remaining: null,
    status_message: "Proofreading the book. Both chapters are written.",
  });
  return new Response(JSON.stringify(body), { headers: reply.headers });
};
"""


async def test_no_remaining_time_is_shown_once_all_chapters_are_written(open_page: OpenPage, open_api: OpenApi) -> None:
    api = await open_api()
    page = await open_page(api)
    book = await (await sign_in(page, api)).written()
    await page.script(PROOFREAD)

    await page.open(f"books/{book['id']}/writing")

    await page.sees("Proofreading the book.")
    await page.sees("2 of 2")
    await page.misses("known after the first chapter")


def test_the_page_has_a_label_for_every_phase_of_the_status() -> None:
    told = re.findall(r'\["[A-Z]\w+", "([a-z ]+)"\]', assets().files["produce.js"].plain.decode())

    assert told == list(DOING.values())
