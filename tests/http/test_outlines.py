from typing import Any

import pytest

from bookgen.providers.offline import OfflineModel
from bookgen.providers.sample.story import told_in
from bookgen.providers.text import TextReply, TextRequest
from tests.http.conftest import Api, OpenApi
from tests.http.test_generation import HeldModel


async def revise(api: Api, book: dict[str, Any], *entries: Any, replace: bool = False) -> Any:
    return await api.post(f"/books/{book['id']}/update-outline/", {"chapters": list(entries), "replace": replace})


def titles(book: dict[str, Any]) -> list[str]:
    return [chapter["title"] for chapter in book["chapters"]]


async def test_the_outline_gives_the_book_its_chapters_and_budgets(api: Api) -> None:
    book = await api.outlined(chapter_count=3, target_word_count=1000)

    assert book["status"] == "outline"
    assert [chapter["chapter_number"] for chapter in book["chapters"]] == [1, 2, 3]
    assert book["chapters"] == sorted(book["chapters"], key=lambda chapter: chapter["id"])
    assert sum(chapter["target_word_count"] for chapter in book["chapters"]) == 1000


async def test_an_entry_changes_the_chapter_with_its_id_or_number(api: Api) -> None:
    book = await api.outlined(chapter_count=3)
    first, second, third = book["chapters"]

    changed = await revise(
        api, book, {"id": third["id"], "title": "Third"}, {"chapter_number": 1, "summary": "How it began."}
    )

    assert titles(changed.body) == [first["title"], second["title"], "Third"]
    assert changed.body["chapters"][0]["summary"] == "How it began."
    assert changed.body["chapters"][2]["summary"] == third["summary"]


async def test_an_entry_that_matches_no_chapter_is_appended(api: Api) -> None:
    book = await api.outlined()

    appended = await revise(api, book, {"title": "Coda", "target_word_count": 50})

    assert titles(appended.body) == [*titles(book), "Coda"]
    assert appended.body["chapters"][2] | {"chapter_number": 3, "target_word_count": 50} == appended.body["chapters"][2]
    assert appended.body["chapter_count"] == 3


async def test_a_new_chapter_needs_a_title(api: Api) -> None:
    refused = await revise(api, await api.outlined(), {"summary": "Of what?"})

    assert (refused.status, list(refused.body["error"]["details"])) == (400, ["chapters"])


async def test_replace_makes_the_list_the_whole_outline_in_its_order(api: Api) -> None:
    book = await api.outlined(chapter_count=3)
    first, _, third = book["chapters"]

    replaced = await revise(api, book, {"id": third["id"]}, {"title": "New"}, {"id": first["id"]}, replace=True)

    assert titles(replaced.body) == [third["title"], "New", first["title"]]
    assert [chapter["id"] for chapter in replaced.body["chapters"]][::2] == [third["id"], first["id"]]
    assert [chapter["chapter_number"] for chapter in replaced.body["chapters"]] == [1, 2, 3]


async def test_a_moved_chapter_keeps_its_text_and_revisions(api: Api) -> None:
    book = await api.written()
    first, second = book["chapters"]
    await api.patch(f"/chapters/{first['id']}/", {"content": "Mine."})

    await revise(api, book, {"id": second["id"]}, {"id": first["id"]}, replace=True)

    moved = (await api.get(f"/chapters/{first['id']}/")).body
    assert (moved["chapter_number"], moved["content"]) == (2, "Mine.")
    assert len((await api.get(f"/chapters/{first['id']}/revisions/")).body) == 1


async def test_an_outline_can_be_written_by_hand(api: Api) -> None:
    book = await api.book()

    outlined = await revise(api, book, {"title": "One"}, {"title": "Two"})

    assert (outlined.body["status"], titles(outlined.body)) == ("outline", ["One", "Two"])
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    await api.until(book["id"], "completed")


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [{"title": "x"}] * 101,
        [{"chapter_number": 1, "title": "a"}, {"chapter_number": 1, "title": "b"}],
        ["title"],
        [{"title": ""}],
        [{"chapter_number": "one"}],
    ],
)
async def test_an_invalid_outline_is_refused_as_a_whole(api: Api, entries: list[Any]) -> None:
    book = await api.outlined()

    refused = await revise(api, book, *entries, replace=True)

    assert (refused.status, list(refused.body["error"]["details"])) == (400, ["chapters"])
    assert titles((await api.get(f"/books/{book['id']}/")).body) == titles(book)


async def test_a_chapter_of_another_book_cannot_be_changed_by_its_id(api: Api) -> None:
    other = (await api.outlined())["chapters"][0]
    book = await api.outlined()

    await revise(api, book, {"id": other["id"], "title": "Stolen"})

    assert (await api.get(f"/chapters/{other['id']}/")).body["title"] == other["title"]


async def test_the_text_of_a_reworked_chapter_becomes_a_revision(api: Api) -> None:
    book = await api.written()
    first, second = book["chapters"]

    reworked = await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": [first["id"]]})

    assert reworked.status == 200
    assert [chapter["content"] for chapter in reworked.body["chapters"]] == ["", second["content"]]
    [kept] = (await api.get(f"/chapters/{first['id']}/revisions/")).body
    assert (await api.get(f"/chapters/{first['id']}/revisions/{kept['id']}/")).body["content"] == first["content"]


async def test_chapters_of_other_books_cannot_be_reworked(api: Api) -> None:
    book, other = await api.outlined(), await api.outlined()

    refused = await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": [other["chapters"][0]["id"]]})

    foreign = other["chapters"][0]["id"]
    sentence = f"These chapter ids do not belong to this book: {foreign}. Read its chapters (GET /books/{{id}}/)."
    assert (refused.status, refused.body["error"]["details"]) == (400, {"chapter_ids": [sentence]})


async def test_the_outline_cannot_be_changed_during_a_run(open_api: OpenApi) -> None:
    model = HeldModel()
    api = await (await open_api(model=model)).as_new_account("ada")
    book = await api.outlined(chapter_count=3)
    await api.post(f"/books/{book['id']}/generate/")
    await model.asked.wait()

    edited = await revise(api, book, {"chapter_number": 3, "title": "Late"})
    outlined = await api.post(f"/books/{book['id']}/generate-outline/")
    reworked = await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": [book["chapters"][2]["id"]]})

    assert {reply.code for reply in (edited, outlined, reworked)} == {"GENERATION_IN_PROGRESS"}
    assert {reply.status for reply in (edited, outlined, reworked)} == {400}


async def test_the_unwritten_chapters_of_a_paused_book_can_be_changed(open_api: OpenApi) -> None:
    model = HeldModel()
    api = await (await open_api(model=model)).as_new_account("ada")
    book = await api.outlined(chapter_count=3)
    await api.post(f"/books/{book['id']}/generate/")
    await model.asked.wait()
    await api.post(f"/books/{book['id']}/pause-generation/")

    ahead = await revise(api, book, {"chapter_number": 3, "title": "Another end"}, {"title": "Coda"})
    behind = await revise(api, book, {"chapter_number": 1, "title": "Too late"})
    model.gate.set()
    await api.post(f"/books/{book['id']}/resume-generation/")
    done = await api.until(book["id"], "completed")

    assert (ahead.status, titles(ahead.body)[2:]) == (200, ["Another end", "Coda"])
    assert (behind.status, behind.code) == (409, "CONFLICT")
    assert behind.body["error"]["message"] == (
        "Chapter 1 is being finished. Only unwritten chapters can change now. "
        "Stop the run first (POST /books/{id}/stop-generation/)."
    )
    assert (done["completed_chapters"], done["total_chapters"]) == (4, 4)


async def test_a_provider_failure_is_a_502_with_its_stage(open_api: OpenApi) -> None:
    class FailingOutlines(OfflineModel):
        async def complete(self, request: TextRequest) -> TextReply:
            from bookgen.errors import UpstreamAIError

            raise UpstreamAIError("The model provider timed out.", stage=request.stage, retryable=True)

    api = await (await open_api(model=FailingOutlines())).as_new_account("ada")
    book = await api.book()

    failed = await api.post(f"/books/{book['id']}/generate-outline/")

    assert (failed.status, failed.code) == (502, "UPSTREAM_AI_ERROR")
    assert failed.body["error"]["details"] | {"stage": "outline", "retryable": True} == failed.body["error"]["details"]
    assert (await api.get(f"/books/{book['id']}/")).body["status"] == "draft"


async def test_a_book_of_the_default_length_gets_the_sample_story_and_can_be_changed(api: Api) -> None:
    book = await api.written(chapter_count=10, target_word_count=20_000)
    story = told_in("en", 10)
    second, third = book["chapters"][1:3]

    assert [chapter["title"] for chapter in book["chapters"]] == [chapter.title for chapter in story]
    assert [chapter["content"] for chapter in book["chapters"][1:]] == [chapter.text for chapter in story[1:]]
    assert book["quality"] == []
    again = (await api.post(f"/chapters/{second['id']}/regenerate/")).body
    assert again["content"] == story[1].text
    replanned = (await api.post(f"/books/{book['id']}/regenerate-chapters/", {"chapter_ids": [third["id"]]})).body
    assert replanned["chapters"][2]["title"] != third["title"]
    rewritten = (await api.post(f"/chapters/{third['id']}/regenerate/")).body
    assert rewritten["content"]
    assert rewritten["content"] != third["content"]


async def test_a_plan_is_accepted_flat_or_nested_and_is_kept(api: Api) -> None:
    book = await api.outlined(chapter_count=2)
    first, second = book["chapters"]
    scene = {"place": "The quay", "people": "Mara", "want": "To leave", "turn": "She stays"}

    await revise(api, book, {"id": first["id"], "scenes": [scene], "sets_up": ["the key"], "last_image": "The lamp"})
    planned = (await revise(api, book, {"id": second["id"], "plan": {"pays_off": ["the key"]}})).body["chapters"]
    assert [chapter["plan"] for chapter in planned] == [
        {"scenes": [scene], "sets_up": ["the key"], "last_image": "The lamp"},
        {"pays_off": ["the key"]},
    ]

    sent_back = await revise(api, book, *planned, replace=True)
    assert [chapter["plan"] for chapter in sent_back.body["chapters"]] == [chapter["plan"] for chapter in planned]

    without = await revise(api, book, {"id": first["id"], "last_image": "", "title": "At the Quay"})
    assert without.body["chapters"][0]["plan"] == {"scenes": [scene], "sets_up": ["the key"]}
    copy = await api.post(f"/books/{book['id']}/duplicate/")
    assert copy.body["chapters"][1]["plan"] == {"pays_off": ["the key"]}


async def test_an_entry_with_the_id_of_another_book_is_refused_by_that_id(api: Api) -> None:
    book, other = await api.outlined(), await api.outlined()
    theirs = other["chapters"][0]["id"]

    for entry in (
        {"id": theirs, "title": "Mine"},
        {"id": 999_999, "chapter_number": 1},
        {"id": 999_999, "title": "New"},
    ):
        for replace in (False, True):
            body = {"chapters": [entry, {"chapter_number": 2, "title": "Two"}], "replace": replace}
            refused = await api.post(f"/books/{book['id']}/update-outline/", body)
            assert (refused.status, refused.code) == (400, "VALIDATION_ERROR")
            assert f"do not belong to this book: {entry['id']}." in refused.body["error"]["details"]["chapters"][0]

    assert (await api.get(f"/books/{book['id']}/")).body["chapters"] == book["chapters"]
    assert (await api.get(f"/books/{other['id']}/")).body["chapters"] == other["chapters"]
