"""Every view checked by axe: in light and dark mode, right to left, and at double size."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in

PUBLIC = ("", "sample", "sample/1", "signin", "new", "signin/new")

# The document is the same in every mode, so each mode repeats only the rules whose findings it can change.
OF_COLOURS = ("color-contrast", "link-in-text-block")
OF_SIZES = ("scrollable-region-focusable", "target-size")

# The rules to check, how to enter the mode, and how to leave it. No rules means all of them.
MODES = {
    "as it is": ((), (), ()),
    "dark": (OF_COLOURS, ("scheme", "dark"), ("scheme", "light")),
    "right to left": (OF_SIZES, ("script", "document.dir = 'rtl'"), ("script", "document.dir = 'ltr'")),
    "twice as large": (OF_SIZES, ("width", 640), ("width", 1280)),
}


@pytest.mark.timeout(400)
async def test_axe_finds_nothing(open_api: OpenApi, open_page: OpenPage) -> None:
    api = await open_api()
    page = await open_page(api)

    found = {view: await judged(page, view) for view in PUBLIC}
    account = await sign_in(page, api)
    await api.services.database.http.execute("UPDATE account SET is_staff = true")
    await page.open("")
    book = await account.written(title="The Salt Road")
    await account.patch(f"/chapters/{book['chapters'][0]['id']}/", {"content": "She walked to the the river, by hand."})
    await account.post(f"/books/{book['id']}/generate-cover/", {"count": 2})
    draft = await account.book(title="A Draft")
    for view in views(book, draft):
        found[view] = await judged(page, view)
    await page.open(f"books/{book['id']}/proof")
    await page.press("Check the book")
    await page.look()
    await page.until("document.querySelector('.suggestion ins')")
    found["proof"] = await in_each_mode(page)

    assert {view: findings for view, findings in found.items() if findings} == {}


def views(book: dict[str, Any], draft: dict[str, Any]) -> list[str]:
    parts = ("outline", "writing", "read", "proof", "cover", "files", "details", "preview")
    chapter = f"books/{book['id']}/chapters/{book['chapters'][0]['id']}"
    return [
        "", "new", "account", "plan", "staff", f"books/{draft['id']}/outline",
        *(f"books/{book['id']}/{part}" for part in parts), chapter, f"{chapter}/edit", f"{chapter}/former",
    ]  # fmt: skip


async def judged(page: BrowserPage, view: str) -> list[str]:
    await page.open(view)
    await page.until("location.hash === '#/' + values[0]", view)
    await page.until("!document.body.innerText.includes('Loading …')")
    await page.until("document.querySelector('main h1')")
    return await in_each_mode(page)


async def in_each_mode(page: BrowserPage) -> list[str]:
    findings = []
    for mode, (rules, change, undo) in MODES.items():
        if change:
            await getattr(page, change[0])(change[1])
        wide = await page.script("return document.documentElement.scrollWidth - innerWidth")
        findings += [f"{mode}: {one}" for one in await page.findings(*rules)]
        findings += [f"{mode}: {wide} pixels too wide"] if wide > 0 else []
        if undo:
            await getattr(page, undo[0])(undo[1])
    return findings


@pytest.mark.parametrize("path", ["errors", "models", "configure"])
async def test_axe_finds_nothing_in_a_document(page: BrowserPage, path: str) -> None:
    await page.visit(f"api/v1/docs/{path}/")

    assert await in_each_mode(page) == []
