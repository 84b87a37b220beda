"""The editor loses no typed text: offline, after a reload, in two tabs, and during edits by others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bookgen.http.console.static import assets
from bookgen.words import count_words
from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in

FIELD = "Chapter text (Markdown)"
SEQUENCES = int(os.environ.get("SEQUENCES", "30"))
BATCH = 10
UNREACHABLE = ("ERR_INTERNET_DISCONNECTED", "ERR_CONNECTION_REFUSED", "Failed to fetch")

RANDOM = (Path(__file__).parent / "sequences.js").read_text("utf-8")

IN_SIGHT = """
const { top, bottom } = document.activeElement.getBoundingClientRect();
return top >= 0 && bottom <= innerHeight;
"""


@pytest.fixture
async def page(open_page: OpenPage, visitor: Api) -> BrowserPage:
    return await open_page(visitor)


@pytest.fixture
async def account(page: BrowserPage, visitor: Api) -> Api:
    return await sign_in(page, visitor)


@pytest.fixture
async def chapter(account: Api, page: BrowserPage) -> dict[str, Any]:
    """A written chapter that is open in the editor."""
    book = await account.written()
    found = dict(book["chapters"][0])
    await account.patch(f"/chapters/{found['id']}/", {"content": "It rained."})
    await page.open(edited(found))
    await page.until("document.querySelector('textarea')?.value === 'It rained.'")
    return found


def edited(chapter: dict[str, Any]) -> str:
    return f"books/{chapter['book']}/chapters/{chapter['id']}/edit"


async def stored(account: Api, chapter: dict[str, Any]) -> str:
    return str((await account.get(f"/chapters/{chapter['id']}/")).body["content"])


@pytest.mark.timeout(60 + SEQUENCES)
async def test_no_word_is_lost_in_random_sequences(page: BrowserPage, account: Api, chapter: dict[str, Any]) -> None:
    page.expected.append("409")
    folder = f"/console/{assets().version}"

    lost = []
    for start in range(0, SEQUENCES, BATCH):
        lost += await page.wait_for(RANDOM, folder, chapter["id"], account.access, start, BATCH)

    assert lost == []


async def test_text_typed_offline_survives_a_reload_and_is_saved_later(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    page.expected += UNREACHABLE
    await page.offline(True)
    await page.fill(FIELD, "It snowed.")
    await page.press("Save")
    await page.sees("Stored on this device.")
    await page.offline(False)
    assert await stored(account, chapter) == "It rained."

    await page.load(edited(chapter))

    await page.until("document.querySelector('textarea')?.value === 'It snowed.'")
    await page.press("Save")
    await page.sees("Saved.")
    assert await stored(account, chapter) == "It snowed."


async def test_a_chapter_changed_elsewhere_is_shown_as_two_versions(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    await page.fill(FIELD, "It snowed.")
    await account.patch(f"/chapters/{chapter['id']}/", {"content": "It hailed."})

    await page.press("Save")

    await page.sees("changed elsewhere")
    await page.sees("It hailed.")
    assert await stored(account, chapter) == "It hailed."
    await page.press("Keep my version")
    await page.sees("Saved.")
    assert await stored(account, chapter) == "It snowed."


async def test_the_conflict_is_scrolled_into_view_from_far_down_a_long_text(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    long = "It snowed.\n\n" * 200
    await account.patch(f"/chapters/{chapter['id']}/", {"content": long})
    await page.load((await page.script("return location.hash")).removeprefix("#/"))
    area = await page.named(FIELD)
    await page.script("arguments[0].focus(); arguments[0].setSelectionRange(1e6, 1e6); scrollTo(0, 1e6)", area)
    await page.keys("It hailed.")
    await account.patch(f"/chapters/{chapter['id']}/", {"content": f"It rained.\n\n{long}"})

    await page.press("Save")

    await page.sees("changed elsewhere")
    await page.until("document.activeElement?.matches('[tabindex]')")
    assert await page.script(IN_SIGHT)


async def test_the_version_that_was_not_chosen_is_kept(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    await page.fill(FIELD, "It snowed.")
    await account.patch(f"/chapters/{chapter['id']}/", {"content": "It hailed."})
    await page.press("Save")

    await page.press("Use the other version")

    await page.until("document.querySelector('textarea')?.value === 'It hailed.'")
    await page.press("Use this version")
    await page.until("document.querySelector('textarea')?.value === 'It snowed.'")


COUNTED = [
    "One word--two words, well-known; 3.5 miles to St. John’s.", "It’s 5 o’clock<br/>now.", "雨が降る。",
    "ฝนตกหนักมากในคืนนั้น",
    "كَتَبَ الكِتابَ", "नमस्ते दुनिया", "a_b *c*", "צה\"ל", "# Heading\n\n* * *\n\nText.",
]  # fmt: skip


async def test_the_editor_counts_words_as_the_service_does(page: BrowserPage) -> None:
    source = f"const {{ countWords }} = await import('/console/{assets().version}/wordcount.js');"
    counted = await page.wait_for(
        f"const [texts, done] = arguments; (async () => {{ {source} done(texts.map(countWords)) }})()", COUNTED
    )

    assert counted == [count_words(text) for text in COUNTED]


async def test_leaving_the_editor_saves(page: BrowserPage, account: Api, chapter: dict[str, Any]) -> None:
    await page.fill(FIELD, "It snowed.")

    await page.press("Read")

    await page.until("document.querySelector('article')?.innerText.includes('It snowed.')")
    assert await stored(account, chapter) == "It snowed."


async def test_a_former_text_can_be_compared_and_restored(
    page: BrowserPage, account: Api, chapter: dict[str, Any]
) -> None:
    await page.fill(FIELD, "It snowed.")
    await page.press("Save")
    await page.sees("Saved.")

    await page.press("History")
    await page.until("document.querySelector('del')?.innerText === 'rained'")
    await page.press("Restore this version")

    await page.until("document.querySelector('article')?.innerText.includes('It rained.')")
    assert await stored(account, chapter) == "It rained."


TEN = "\n\n".join(f"Paragraph {number} of the chapter." for number in range(10))


async def test_the_history_folds_what_did_not_change(page: BrowserPage, account: Api, chapter: dict[str, Any]) -> None:
    await account.patch(f"/chapters/{chapter['id']}/", {"content": TEN})
    await account.patch(f"/chapters/{chapter['id']}/", {"content": TEN.replace("Paragraph 1 ", "Passage 1 ")})

    await page.press("History")

    await page.until("document.querySelector('ins')?.innerText === 'Passage'")
    await page.sees("7 paragraphs without changes")
    await page.sees("Paragraph 2 of the chapter.")
    await page.misses("Paragraph 5 of the chapter.")
    await page.press("7 paragraphs without changes")
    await page.sees("Paragraph 5 of the chapter.")


LONG = "\n\n".join(f"Line {number}. " + "It *snowed*. " * (number % 9) for number in range(120))
# The first paragraph that can be seen below the navigation.
FIRST = """
return [...document.querySelectorAll("article > p")].find((one) => one.getBoundingClientRect().bottom > 120).innerText
"""
# Before it is set, the caret is at the end.
CARET_SET = "document.querySelector('textarea')?.selectionStart < document.querySelector('textarea')?.value.length"
CARET = "return document.querySelector('textarea').value.slice(document.querySelector('textarea').selectionStart)"


@pytest.mark.parametrize("paragraph", [30, 60, 91])
async def test_the_place_is_kept_between_reading_and_editing(
    page: BrowserPage, account: Api, chapter: dict[str, Any], paragraph: int
) -> None:
    await account.patch(f"/chapters/{chapter['id']}/", {"content": LONG})
    book = (await account.get(f"/books/{chapter['book']}/?fields=title")).body["title"]
    await page.press("Read")
    # A view scrolls in the same step in which it sets its title.
    await page.heads(f"{chapter['title']} · {book}")
    await page.until("document.querySelector('article').innerText.includes('Line 119.')")
    await page.script("[...document.querySelectorAll('article > p')][arguments[0]].scrollIntoView()", paragraph)
    seen = (await page.script(FIRST)).split(".")[0]

    for _ in range(3):
        await page.press("Edit")
        await page.until(CARET_SET)
        assert (await page.script(CARET)).startswith(f"{seen}. ")
        await page.press("Read")
        await page.heads(f"{chapter['title']} · {book}")
        assert (await page.script(FIRST)).startswith(f"{seen}.")


async def test_a_title_and_summary_proposed_by_the_model_can_be_compared_and_restored(
    page: BrowserPage, account: Api, chapter: dict[str, Any], pool: asyncpg.Pool
) -> None:
    await pool.execute(
        """INSERT INTO chapter_revision (chapter_id, origin, content, word_count, title, summary)
           VALUES ($1, 'model', '', 0, 'What the model called it', 'What it was about.')""",
        chapter["id"],
    )

    await page.press("History")
    await page.sees("the model’s title and summary")
    await page.press("Restore title and summary")

    await page.until("document.querySelector('h1')?.innerText.includes('What the model called it')")
    assert await stored(account, chapter) == "It rained."
