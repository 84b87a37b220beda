"""A chapter's pictures: generating, describing, moving and removing them, and plans without them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model
from tests.fakes.image_server import ImageServer, painted, sent
from tests.http.conftest import Api, OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in
from tests.http.console.test_axe import in_each_mode

TEXT = "# {title}\n\nShe came at dawn.\n\nThe gate was *open*.\n\nNobody waited."
ORDER = """
return [...document.querySelectorAll(".reading :is(p:not(.quiet), figure)")].map((one) => one.tagName).join(" ");
"""
CHOOSE = """
const [field, value] = arguments;
field.value = value;
field.dispatchEvent(new Event("input", { bubbles: true }));
"""


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def chapter(account: Api) -> dict[str, Any]:
    return await three_paragraphs(account)


async def three_paragraphs(account: Api) -> dict[str, Any]:
    """A chapter with a heading and three paragraphs."""
    chapter = (await account.written())["chapters"][0]
    content = TEXT.format(title=chapter["title"])
    return dict((await account.patch(f"/chapters/{chapter['id']}/", {"content": content})).body)


def view(chapter: dict[str, Any], mode: str = "pictures") -> str:
    return f"books/{chapter['book']}/chapters/{chapter['id']}/{mode}"


async def test_a_picture_can_be_generated_described_moved_and_removed(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    await page.open(view(chapter, "read"))
    await page.press("Add a picture")
    await page.fill("What it should show", "The open gate")
    await page.fill("Caption", "The gate")
    await page.press("Create picture")
    await page.until("document.activeElement.matches('.illustration')")
    findings = await in_each_mode(page)
    assert await page.value("What it should show") == ""
    await page.press("Read")
    await page.until("document.querySelector('.reading figure')")
    assert await page.script(ORDER) == "P P FIGURE P"

    await page.press("Pictures")
    await page.fill("Alt text", "A gate that stands open")
    await page.script(CHOOSE, await page.named("Position"), "1")
    await page.sees("After paragraph 1: \u2068She came at dawn.\u2069")
    await page.press("Save picture 1")
    await page.named("Saved picture 1")
    await page.press("Read")
    await page.until("document.querySelector('figure img')?.alt === 'A gate that stands open'")
    assert await page.script(ORDER) == "P FIGURE P P"
    findings += await in_each_mode(page)

    await page.press("Pictures")
    await page.press("Remove picture 1")
    await page.press("Remove")
    await page.until("!document.querySelector('.illustration')")
    assert (await account.get(f"/chapters/{chapter['id']}/illustrations/")).body == []
    assert findings == []


async def test_unsaved_picture_descriptions_are_restored(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    await account.post(f"/chapters/{chapter['id']}/generate-image/")
    await page.open(view(chapter))
    await page.until("document.querySelector('.illustration')")
    await page.fill("Caption", "The gate")
    await page.fill("What it should show", "A heron")

    await page.load(view(chapter))

    await page.named("Save picture 1")
    assert await page.value("Caption") == "The gate"
    assert await page.value("What it should show") == "A heron"


async def test_a_picture_that_arrives_after_the_view_is_left_gets_the_text_typed_for_it(
    open_page: OpenPage, open_api: OpenApi
) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def held(body: dict[str, Any]) -> web.StreamResponse:
        asked.set()
        await go.wait()
        return await sent(painted(600, 400))(body)

    async with ImageServer() as server:
        server.script(held)
        settings = ModelSettings(access={"openai": Access("key", server.url)})
        api = await open_api(images=build_image_model("openai:gpt-image-2.5-flare", settings))
        page = await open_page(api)
        chapter = await three_paragraphs(await sign_in(page, api))
        await page.open(view(chapter))
        await page.fill("What it should show", "A heron")
        await page.press("Create picture")
        await asked.wait()
        await page.sees("Creating the picture (this may take a minute) …")

        await page.press("Read")
        go.set()
        await page.until("document.querySelector('.reading figure')")
        await page.press("Pictures")

        assert await page.value("What it should show") == ""


async def test_a_picture_removed_elsewhere_disappears_here(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    page.expected.append("404")
    made = (await account.post(f"/chapters/{chapter['id']}/generate-image/")).body
    await page.open(view(chapter))
    await page.named("Remove picture 1")
    await account.delete(f"/illustrations/{made['id']}/")

    await page.press("Remove picture 1")
    await page.press("Remove")

    await page.until("!document.querySelector('.illustration, dialog')")


async def test_a_spread_shows_its_newest_picture_like_the_files(page: BrowserPage, account: Api) -> None:
    told = {"title": "Pip", "characters": ["Pip, a mouse"], "age_range": "3-5", "page_count": 8}
    book = (await account.post("/books/childrens/", told)).body
    spread = (await account.post(f"/books/{book['id']}/generate-outline/")).body["chapters"][0]
    await account.patch(f"/chapters/{spread['id']}/", {"content": "Hop!"})
    for prompt in ("Pip sleeps", "Pip hops"):
        await account.post(f"/chapters/{spread['id']}/generate-image/", {"prompt": prompt})

    await page.open(view(spread))
    await page.sees("A spread has room for one picture")
    await page.misses("Position")
    alt = await page.script("return [...document.querySelectorAll('.illustration img')].at(-1).alt")
    await page.press("Read")

    await page.until("document.querySelector('.reading figure')")
    assert await page.script("return [...document.querySelectorAll('figure img')].map((one) => one.alt)") == [alt]
    assert await page.script(ORDER) == "FIGURE P"


async def test_a_plan_without_chapter_images_says_so_before_anything_is_typed(open_page: OpenPage, shop: Api) -> None:
    page = await open_page(shop)
    chapter = await three_paragraphs(await sign_in(page, shop))

    await page.open(view(chapter))

    await page.sees("Your plan does not include chapter pictures.")
    await page.misses("Create picture")
    await page.named("See plans")
