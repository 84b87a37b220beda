"""Following and controlling a run in a browser, and the messages when it waits or fails."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import TextReply, TextRequest
from tests.http.conftest import Api, OpenApi
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import OpenPage, sign_in
from tests.http.test_generation import HeldModel


class MoodyModel(HeldModel):
    """Writes once the test opens the gate, or fails in the second chapter."""

    fails = False
    denied = ""  # the provider's message if it refuses every call

    async def complete(self, request: TextRequest) -> TextReply:
        if self.fails and request.chapter_number == 2 and request.stage not in ("outline", "rework"):
            raise UpstreamAIError(
                self.denied or "The provider is away.", stage=request.stage, chapter_number=2, retryable=not self.denied
            )
        return await super().complete(request)


@pytest.fixture
def author() -> MoodyModel:
    return MoodyModel()


@pytest.fixture
async def service(open_api: OpenApi, author: MoodyModel) -> Api:
    return await open_api(model=author)


@pytest.fixture
async def page(open_page: OpenPage, service: Api) -> BrowserPage:
    return await open_page(service)


@pytest.fixture
async def account(page: BrowserPage, service: Api) -> Api:
    return await sign_in(page, service)


@pytest.fixture
async def running(page: BrowserPage, account: Api, author: MoodyModel) -> dict[str, Any]:
    """A book whose first chapter is being written. The run was started on the page."""
    book = await account.outlined(title="The Salt Road")
    await page.open(f"books/{book['id']}/writing")
    await page.press("Write the chapters")
    await author.asked.wait()
    await page.sees("Pause")
    return book


async def test_a_run_is_paused_resumed_and_stopped(page: BrowserPage, account: Api, running: dict[str, Any]) -> None:
    await page.press("Pause")
    await page.sees("Paused")
    await page.press("Resume")
    await page.sees("Pause")
    await page.press("Stop")
    await page.until("document.querySelector('dialog')")
    await page.script("document.querySelector('dialog .primary').click()")
    await page.sees("Stopped.")

    status = (await account.get(f"/books/{running['id']}/generation-status/")).body
    assert status["generation_status"] == "stopped"
    await page.named("Resume")


async def test_chapter_plans_can_be_read_during_writing(page: BrowserPage, account: Api, author: MoodyModel) -> None:
    book = await account.outlined()
    plan = {"scenes": [{"place": "The quay", "people": "Mara", "turn": "She stays"}], "last_image": "A lamp goes out."}
    await account.post(f"/books/{book['id']}/update-outline/", {"chapters": [{"chapter_number": 2, "plan": plan}]})
    await page.open(f"books/{book['id']}/writing")
    await page.press("Write the chapters")
    await author.asked.wait()

    await page.open(f"books/{book['id']}/outline")
    await page.press("Chapter plan of chapter 2: 1 scene")

    await page.sees("The quay · Mara · She stays")
    await page.sees("A lamp goes out.")
    await page.misses("Chapter plan of chapter 1")
    assert await page.findings() == []


async def test_chapters_appear_as_they_are_finished(
    page: BrowserPage, account: Api, author: MoodyModel, running: dict[str, Any]
) -> None:
    await page.sees("in progress")

    author.gate.set()
    await account.until(running["id"], "completed")
    await page.look()

    await page.sees("Completed. Both chapters are written.")
    await page.misses("in progress")
    await page.named("Download")


async def test_a_book_with_a_new_outline_can_be_written_again(
    page: BrowserPage, account: Api, author: MoodyModel
) -> None:
    author.gate.set()
    book = await account.written()
    await account.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": [book["chapters"][0]["id"]]})

    await page.open(f"books/{book['id']}/writing")
    await page.sees("1 of 2 chapters has text. To write the other one, start the generation.")
    await page.sees("1 of 2")
    await page.misses("Rewrite book")
    await page.press("Write the remaining chapter")
    await account.until(book["id"], "completed")
    await page.look()

    await page.sees("Completed. Both chapters are written.")


async def test_a_stopped_rewrite_shows_which_chapters_are_new(
    page: BrowserPage, account: Api, author: MoodyModel
) -> None:
    author.gate.set()
    book = await account.written(chapter_count=3, target_word_count=600)
    author.gate.clear()
    author.fails = True
    await account.post(f"/books/{book['id']}/generate/")
    author.gate.set()
    await account.until(book["id"], "error")
    await account.post(f"/books/{book['id']}/stop-generation/")

    await page.open(f"books/{book['id']}/writing")

    await page.sees("Stopped. 1 of 3 chapters was rewritten; the others keep their previous text.")
    await page.until("document.querySelector('.chapters .quiet')?.innerText.endsWith(', new')")
    labels = await page.script(
        "return [...document.querySelectorAll('.chapters .quiet')].map((each) => each.innerText)"
    )
    assert [label.endswith(", new") for label in labels] == [True, False, False]
    await page.named("Rewrite book")


async def test_a_queued_book_shows_its_place(page: BrowserPage, account: Api, running: dict[str, Any]) -> None:
    second = await account.outlined(title="The Second")
    await page.open(f"books/{second['id']}/writing")
    await page.sees("Nothing has been written yet.")

    await page.press("Write the chapters")

    await page.sees("Place 1 in the queue.")
    await page.sees("Your account writes one book at a time")


async def test_a_failed_run_says_why_and_can_be_resumed(page: BrowserPage, account: Api, author: MoodyModel) -> None:
    author.fails = True
    author.gate.set()
    book = await account.outlined()
    await account.post(f"/books/{book['id']}/generate/")
    await account.until(book["id"], "error")

    await page.open(f"books/{book['id']}")
    await page.sees("The provider is away.")
    await page.sees("continues with the chapter that failed")
    author.fails = False
    await page.press("Try again")
    await account.until(book["id"], "completed")
    await page.look()

    words = (await account.get(f"/books/{book['id']}/")).body["word_count"]
    await page.sees(f"{words} words")
    await page.until("document.querySelector('.run .state')?.innerText.includes('Completed.')")


async def test_a_problem_for_the_operator_is_not_blamed_on_the_book(
    page: BrowserPage, account: Api, author: MoodyModel
) -> None:
    author.fails, author.denied = True, "The model provider does not accept this server's key."
    author.gate.set()
    book = await account.outlined()
    await account.post(f"/books/{book['id']}/generate/")
    await account.until(book["id"], "error")

    await page.open(f"books/{book['id']}")

    await page.sees(author.denied)
    await page.sees("Only the operator of this service can fix this")
    await page.misses("Edit the outline")
    await page.named("Resume")


async def test_a_resumed_run_counts_the_words_of_all_its_chapters(
    page: BrowserPage, account: Api, author: MoodyModel
) -> None:
    author.fails, author.denied = True, "The model refused to write this."
    author.gate.set()
    book = await account.outlined()
    for _ in range(2):
        await account.post(f"/books/{book['id']}/generate/")
        await account.until(book["id"], "error")

    await page.open(f"books/{book['id']}")

    await page.sees("1 of 2")
    words = (await account.get(f"/books/{book['id']}/")).body["word_count"]
    await page.until("document.querySelector('.facts').innerText.includes(values[0])", f"Words\n{words}")


async def test_a_book_rewritten_too_often_continues_with_another_allowance(
    open_api: OpenApi, open_page: OpenPage, author: MoodyModel, pool: asyncpg.Pool
) -> None:
    service = await open_api(model=author, billing="on")
    page = await open_page(service)
    page.expected.append("402")
    account = await sign_in(page, service)
    book = await account.outlined()
    await account.post(f"/books/{book['id']}/generate/")
    await author.asked.wait()
    await pool.execute("UPDATE hold SET words_before = -60000")  # three times the plan's maximum words per book
    author.gate.set()
    await account.until(book["id"], "error")

    await page.open(f"books/{book['id']}")
    await page.sees("This book was rewritten so often")
    await page.misses("Your plan’s allowance is used up.")
    await page.press("Try again")
    await page.sees("Your remaining books this month are reserved for books in progress")
    await page.named("See your plan")

    await pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 2}' WHERE slug = 'free'""")
    await page.press("Try again")
    await account.until(book["id"], "completed")


async def test_the_shelf_shows_which_book_needs_attention(page: BrowserPage, account: Api, author: MoodyModel) -> None:
    author.fails = True
    author.gate.set()
    book = await account.outlined()
    await account.post(f"/books/{book['id']}/generate/")
    await account.until(book["id"], "error")

    await page.load()

    await page.sees("Failed. Action needed")


async def test_a_failed_call_is_reported_where_it_was_requested(
    page: BrowserPage, account: Api, author: MoodyModel
) -> None:
    page.expected.append("502")
    author.gate.set()
    book = await account.written()
    author.fails = True
    second = book["chapters"][1]

    await page.open(f"books/{book['id']}/chapters/{second['id']}")
    await page.press("Rewrite chapter")
    await page.script("document.querySelector('dialog .primary').click()")

    await page.sees("The provider is away.")
    await page.sees("Try again. If it keeps failing, contact the operator of this service.")
