"""Changes by the quality gate are listed, and one click undoes each of them."""

from __future__ import annotations

from typing import Any

import pytest

from bookgen.store.database import Database
from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in

REMOVED = {
    "kind": "repeated_paragraph",
    "excerpt": "The bell rang.",
    "detail": "This paragraph stood twice.",
    "before": "The bell rang.",
    "after": "",
    "follows": "It rained.",
}
REPAIRED = {
    "kind": "wrong_language",
    "excerpt": "Es schneite.",
    "detail": "It was in German.",
    "before": "Es schneite.",
    "after": "It snowed.",
    "follows": "It rained.",
}
NOTICED = {"kind": "moral", "excerpt": "It snowed.", "detail": "The chapter ends by stating its message outright."}


@pytest.fixture
async def page(open_page: OpenPage, visitor: Api) -> BrowserPage:
    return await open_page(visitor)


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def chapter(account: Api, database: Database) -> dict[str, Any]:
    """A chapter in which one passage was removed and one repaired, in a book without other notes."""
    found = dict((await account.written())["chapters"][0])
    await database.http.execute("UPDATE chapter SET quality = $2 WHERE book_id = $1", found["book"], [])
    await account.patch(f"/chapters/{found['id']}/", {"content": "It rained.\n\nIt snowed."})
    await database.http.execute(
        "UPDATE chapter SET quality = $2, updated_at = now() WHERE id = $1", found["id"], [NOTICED, REMOVED, REPAIRED]
    )
    return found


def read(chapter: dict[str, Any]) -> str:
    return f"books/{chapter['book']}/chapters/{chapter['id']}"


async def stored(account: Api, chapter: dict[str, Any]) -> str:
    return str((await account.get(f"/chapters/{chapter['id']}/")).body["content"])


async def test_the_book_view_shows_the_number_of_notes_of_each_chapter(
    page: BrowserPage, chapter: dict[str, Any]
) -> None:
    await page.open(f"books/{chapter['book']}/writing")

    await page.press("Quality notes on 1 chapter")

    await page.sees("1 finding, 2 changes")


@pytest.mark.parametrize(
    ("place", "content"),
    [(0, "It rained.\n\nThe bell rang.\n\nIt snowed."), (1, "It rained.\n\nEs schneite.")],
    ids=["removed", "repaired"],
)
async def test_one_click_restores_a_passage(
    page: BrowserPage, account: Api, chapter: dict[str, Any], place: int, content: str
) -> None:
    await page.open(read(chapter))
    await page.press("3 quality notes")
    await page.sees(NOTICED["detail"])

    await page.script(f"document.querySelectorAll('.notes button')[{place}].click()")

    await page.until("document.querySelectorAll('.notes button').length === 1")
    assert await stored(account, chapter) == content
    await page.sees("1 quality note")
    kept = (await account.get(f"/chapters/{chapter['id']}/revisions/")).body
    assert kept[0]["origin"] == "editor"


async def test_a_passage_whose_place_is_gone_links_to_the_history(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    await account.patch(f"/chapters/{chapter['id']}/", {"content": "It hailed."})

    await page.open(read(chapter))
    await page.press("2 quality notes")

    await page.sees("The surrounding text has changed")
    await page.until("document.querySelectorAll('.notes button').length === 0")
