"""A status counts the book's current text, also after its outline or chapters have changed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bookgen.providers.text import TextReply, TextRequest
from tests.http import forms
from tests.http.conftest import Api, OpenApi
from tests.http.test_generation import HeldModel

FIGURES = ("generation_status", "completed_chapters", "total_chapters", "percentage", "words_written", "status_message")


async def told(api: Api, book: int) -> dict[str, Any]:
    """The counts of the status, which equal those in the detail form and the list form."""
    status = (await api.get(f"/books/{book}/generation-status/")).body
    detail = (await api.get(f"/books/{book}/")).body
    (listed,) = (await api.get("/books/")).body
    figures = {name: status[name] for name in FIGURES}
    assert forms.misfits(status, forms.GENERATION_STATUS) == []
    for shown in (detail, listed):
        assert {name: shown["generation_progress"][name] for name in FIGURES} == figures
        assert shown["status"] == detail["status"]
    assert status["words_written"] == detail["word_count"] == sum(each["word_count"] for each in status["outline"])
    return figures | {"status": detail["status"]}


async def test_after_a_new_outline_no_chapter_counts_as_written(api: Api) -> None:
    book = (await api.written())["id"]
    assert (await told(api, book))["completed_chapters"] == 2

    await api.post(f"/books/{book}/generate-outline/")

    assert await told(api, book) == {
        "status": "outline",
        "generation_status": "completed",
        "completed_chapters": 0,
        "total_chapters": 2,
        "percentage": 0.0,
        "words_written": 0,
        "status_message": "None of the 2 chapters has text. To write them, start the generation.",
    }


async def test_the_answer_to_a_change_includes_the_updated_counts(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}"
    answers = []
    for action, body in (
        ("update-outline", {"chapters": [{"title": "An Epilogue"}]}),
        ("regenerate-chapters", {"chapter_ids": [book["chapters"][0]["id"]]}),
        ("generate-outline", None),
    ):
        await api.get(f"{path}/generation-status/")  # cached until something changes

        progress = (await api.post(f"{path}/{action}/", body)).body["generation_progress"]
        answers.append((progress["completed_chapters"], progress["total_chapters"]))

    assert answers == [(2, 3), (1, 3), (0, 3)]


async def test_an_outline_whose_caller_disconnected_is_in_the_next_status(
    open_api: OpenApi, outliner: SlowOutliner
) -> None:
    api = await (await open_api(model=outliner)).as_new_account("ada")
    book = await api.written()
    path = f"/books/{book['id']}"
    outliner.gate.clear()
    calling = asyncio.create_task(api.post(f"{path}/generate-outline/"))
    await outliner.asked.wait()
    calling.cancel()
    assert (await told(api, book["id"]))["completed_chapters"] == 2

    outliner.gate.set()
    await api.until_true("SELECT NOT EXISTS (SELECT FROM book_job)")

    assert (await told(api, book["id"]))["completed_chapters"] == 0


async def test_a_long_poll_returns_when_a_new_outline_is_saved(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}"
    tag = (await api.get(f"{path}/generation-status/")).headers["ETag"]
    waiting = asyncio.create_task(
        api.get(f"{path}/generation-status/", headers={"Prefer": "wait=60", "If-None-Match": tag})
    )
    while not len(api.services.supervisor.statuses.changes):  # noqa: ASYNC110 (the signal is the state of something)
        await asyncio.sleep(0.01)

    await api.post(f"{path}/generate-outline/")

    async with asyncio.timeout(10):
        assert (await waiting).body["completed_chapters"] == 0


class SlowOutliner(HeldModel):
    """Holds outlines until released."""

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage != "outline" or self.gate.is_set():
            return await super(HeldModel, self).complete(request)
        self.asked.set()
        await self.gate.wait()
        return await super().complete(request)


@pytest.fixture
def outliner() -> SlowOutliner:
    model = SlowOutliner()
    model.gate.set()
    return model


async def test_after_a_rework_the_chapters_that_kept_their_text_count(api: Api) -> None:
    book = await api.written(chapter_count=4)
    ids = [chapter["id"] for chapter in book["chapters"][:3]]

    await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": ids[:1]})
    three = await told(api, book["id"])
    await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": ids})
    one = await told(api, book["id"])

    assert (three["completed_chapters"], three["percentage"], three["status"]) == (3, 75.0, "outline")
    assert three["status_message"] == "3 of 4 chapters have text. To write the other one, start the generation."
    assert one["status_message"] == "1 of 4 chapters has text. To write the other 3, start the generation."
    assert (await api.post(f"/books/{book['id']}/generate/")).body["mode"] == "continue"
    await api.until(book["id"], "completed")
    done = await told(api, book["id"])
    assert done["status"] == "completed"
    said, _, _ = done["status_message"].partition(" Check the ")  # the sample text may have findings
    assert said == "Completed. All 4 chapters are written."


async def test_the_list_counts_the_findings_of_a_finished_book_too(api: Api) -> None:
    """A change that the quality gate made itself is shown, but is no finding."""
    book = (await api.written())["id"]
    noted = [{"kind": "length", "detail": "It is short."}, {"kind": "heading", "before": "One", "detail": "Removed."}]
    await api.services.database.http.execute("UPDATE chapter SET quality = $2 WHERE book_id = $1", book, noted)
    await api.patch(f"/books/{book}/", {"author_name": "Ada"})

    done = await told(api, book)

    assert done["status_message"] == "Completed. Both chapters are written. Check the 2 findings in the quality notes."


async def test_the_counts_include_chapters_added_or_removed_later(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/update-outline/"

    await api.post(path, {"chapters": [{"title": "An Epilogue"}]})
    added = await told(api, book["id"])
    kept = {"id": book["chapters"][0]["id"]}
    await api.post(path, {"chapters": [kept], "replace": True})
    removed = await told(api, book["id"])

    assert (added["completed_chapters"], added["total_chapters"], added["percentage"]) == (2, 3, 66.7)
    assert added["status_message"] == "2 of 3 chapters have text. To write the other one, start the generation."
    assert (removed["completed_chapters"], removed["total_chapters"], removed["percentage"]) == (1, 1, 100.0)


async def test_an_emptied_chapter_counts_as_unwritten_until_it_has_text(api: Api) -> None:
    book = await api.written()
    path = f"/chapters/{book['chapters'][1]['id']}/"

    await api.patch(path, {"content": ""})
    emptied = await told(api, book["id"])
    by_status = (await api.get("/stats/")).body["books_by_status"]
    await api.patch(path, {"content": "By hand."})
    filled = await told(api, book["id"])

    assert (emptied["status"], emptied["completed_chapters"]) == ("outline", 1)
    assert by_status == {"outline": 1}
    assert (filled["status"], filled["completed_chapters"]) == ("completed", 2)


async def test_regenerating_the_only_missing_chapter_completes_the_book(api: Api) -> None:
    book = await api.written()
    chapters = [chapter["id"] for chapter in book["chapters"]]
    await api.patch(f"/chapters/{chapters[0]}/", {"content": ""})
    await api.patch(f"/chapters/{chapters[1]}/", {"content": ""})

    assert (await api.post(f"/chapters/{chapters[0]}/regenerate/")).status == 200
    one = await told(api, book["id"])
    assert (await api.post(f"/chapters/{chapters[1]}/regenerate/")).status == 200
    both = await told(api, book["id"])

    assert (one["status"], one["completed_chapters"]) == ("outline", 1)
    assert (both["status"], both["completed_chapters"]) == ("completed", 2)


async def test_the_authors_own_text_does_not_complete_a_book_whose_run_was_stopped(
    open_api: OpenApi, rewriter: Rewriter
) -> None:
    api = await (await open_api(model=rewriter)).as_new_account("ada")
    book = await api.outlined()
    rewriter.held = 1
    await api.post(f"/books/{book['id']}/generate/")
    await rewriter.asked.wait()
    await api.post(f"/books/{book['id']}/stop-generation/")

    for chapter in book["chapters"]:
        await api.patch(f"/chapters/{chapter['id']}/", {"content": "By hand."})

    by_hand = await told(api, book["id"])
    assert (by_hand["status"], by_hand["completed_chapters"]) == ("outline", 2)


class Rewriter(HeldModel):
    """Holds the chapter `held` until released."""

    held: int | None = None

    async def complete(self, request: TextRequest) -> TextReply:
        if request.chapter_number == self.held and request.stage == "chapter":
            return await super().complete(request)
        return await super(HeldModel, self).complete(request)


@pytest.fixture
def rewriter() -> Rewriter:
    return Rewriter()


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (1, "Stopped. No chapter was rewritten: all 3 keep their previous text."),
        (2, "Stopped. 1 of 3 chapters was rewritten; the others keep their previous text."),
        (3, "Stopped. 2 of 3 chapters were rewritten; the other one keeps its previous text."),
    ],
)
async def test_a_stopped_rewrite_says_which_chapters_are_new(
    open_api: OpenApi, rewriter: Rewriter, held: int, message: str
) -> None:
    api = await (await open_api(model=rewriter)).as_new_account("ada")
    before = await api.written(chapter_count=3, target_word_count=600)
    path = f"/books/{before['id']}"
    rewriter.held = held
    assert (await api.post(f"{path}/generate/")).body["mode"] == "full"
    await rewriter.asked.wait()
    running = (await api.get(f"{path}/generation-status/")).body

    await api.post(f"{path}/stop-generation/")

    figures, status = await told(api, before["id"]), (await api.get(f"{path}/generation-status/")).body
    chapters = (await api.get(f"{path}/")).body["chapters"]
    new = [number < held for number in (1, 2, 3)]
    assert (running["completed_chapters"], running["total_chapters"]) == (held - 1, 3)
    assert (figures["completed_chapters"], figures["percentage"]) == (3, 100.0)
    assert figures["status_message"] == message
    assert [each["is_new"] for each in status["outline"]] == new
    assert [
        now["written_at"] != was["written_at"] for now, was in zip(chapters, before["chapters"], strict=True)
    ] == new
    assert [now["content"] != was["content"] for now, was in zip(chapters, before["chapters"], strict=True)] == new


async def test_a_restored_text_does_not_count_as_new(open_api: OpenApi, rewriter: Rewriter) -> None:
    api = await (await open_api(model=rewriter)).as_new_account("ada")
    book = await api.written(chapter_count=3, target_word_count=600)
    rewriter.held = 3
    await api.post(f"/books/{book['id']}/generate/")
    await rewriter.asked.wait()
    await api.post(f"/books/{book['id']}/stop-generation/")
    first, second, third = (f"/chapters/{chapter['id']}" for chapter in book["chapters"])

    (former,) = (await api.get(f"{first}/revisions/")).body
    await api.post(f"{first}/revisions/{former['id']}/restore/")
    await api.patch(f"{second}/", {"content": "The new text, edited."})
    await api.patch(f"{third}/", {"content": "The former text, edited."})

    status = (await api.get(f"/books/{book['id']}/generation-status/")).body
    assert [each["is_new"] for each in status["outline"]] == [False, True, False]


async def test_the_status_gives_the_phase_and_the_queue_position(open_api: OpenApi, rewriter: Rewriter) -> None:
    api = await (await open_api(model=rewriter)).as_new_account("ada")
    first, second = await api.outlined(), await api.outlined()
    rewriter.held = 1
    await api.post(f"/books/{first['id']}/generate/")
    await rewriter.asked.wait()
    await api.post(f"/books/{second['id']}/generate/")

    running = (await api.get(f"/books/{first['id']}/generation-status/")).body
    waiting = (await api.get(f"/books/{second['id']}/generation-status/")).body

    assert (running["phase"], running["queue_position"]) == ("chapters", None)
    assert (waiting["phase"], waiting["queue_position"]) == ("chapters", 1)
