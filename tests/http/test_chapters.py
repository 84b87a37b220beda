import asyncio
from typing import Any

import pytest

from tests.http.conftest import Api, OpenApi


@pytest.fixture
async def chapter(api: Api) -> dict[str, Any]:
    """A chapter that the model has written."""
    return dict((await api.written())["chapters"][0])


async def save(api: Api, chapter: dict[str, Any], **changes: Any) -> dict[str, Any]:
    reply = await api.patch(f"/chapters/{chapter['id']}/", changes)
    assert reply.status == 200, reply.body
    return dict(reply.body)


async def revisions(api: Api, chapter: dict[str, Any]) -> list[dict[str, Any]]:
    return list((await api.get(f"/chapters/{chapter['id']}/revisions/")).body)


async def test_a_chapter_is_read_with_its_text(api: Api, chapter: dict[str, Any]) -> None:
    read = (await api.get(f"/chapters/{chapter['id']}/")).body

    assert read == chapter
    assert (read["chapter_number"], read["status"], read["illustrations"]) == (1, "completed", [])
    assert read["word_count"] > 0


async def test_the_chapters_of_all_books_are_listed_in_full(api: Api, chapter: dict[str, Any]) -> None:
    other = await api.outlined(title="Another")

    listed = (await api.get("/chapters/")).body

    assert [each["book"] for each in listed] == [other["id"]] * 2 + [chapter["book"]] * 2
    assert listed[2] == chapter
    assert (await (await api.as_new_account("eve")).get("/chapters/")).body == []


async def test_saving_counts_the_words_and_updates_the_book(api: Api, chapter: dict[str, Any]) -> None:
    before = (await api.get(f"/books/{chapter['book']}/")).body["updated_at"]

    saved = await save(api, chapter, content="Four words of text.", title="New")

    assert (saved["content"], saved["word_count"], saved["title"]) == ("Four words of text.", 4, "New")
    assert saved["summary"] == chapter["summary"]
    assert (await api.get(f"/books/{chapter['book']}/")).body["updated_at"] > before


async def test_text_is_saved_exactly_as_sent(api: Api, chapter: dict[str, Any]) -> None:
    content = "  # A\n\nzwölf Boxkämpfer 👩‍🚀\r\n\n  \u202eend  \n"

    assert (await save(api, chapter, content=content))["content"] == content


async def test_a_save_with_an_outdated_etag_is_refused(api: Api, chapter: dict[str, Any]) -> None:
    path = f"/chapters/{chapter['id']}/"
    tag = (await api.get(path)).headers["ETag"]
    await save(api, chapter, content="Somebody else's.")

    refused = await api.patch(path, {"content": "Mine."}, headers={"If-Match": tag})
    seen = await api.get(path)
    saved = await api.patch(path, {"content": "Mine."}, headers={"If-Match": f'"another", {seen.headers["ETag"]}'})

    assert (refused.status, refused.code) == (409, "CONFLICT")
    assert seen.body["content"] == "Somebody else's."
    assert saved.body["content"] == "Mine."


async def test_of_several_saves_with_the_same_etag_one_succeeds(api: Api, chapter: dict[str, Any]) -> None:
    path = f"/chapters/{chapter['id']}/"
    read = {"If-Match": (await api.get(path)).headers["ETag"]}

    replies = await asyncio.gather(*(api.patch(path, {"content": f"{n}."}, headers=read) for n in range(4)))

    assert sorted(reply.status for reply in replies) == [200, 409, 409, 409]
    assert len(await revisions(api, chapter)) == 1


async def test_a_save_compares_its_etag_after_it_has_the_lock(api: Api, chapter: dict[str, Any]) -> None:
    path, pool = f"/chapters/{chapter['id']}/", api.services.database.http
    read = {"If-Match": (await api.get(path)).headers["ETag"]}
    async with pool.acquire() as other, other.transaction():
        await other.execute(
            "UPDATE chapter SET content = 'Theirs.', content_version = content_version + 1 WHERE id = $1", chapter["id"]
        )
        saving = asyncio.create_task(api.patch(path, {"content": "Mine."}, headers=read))
        while not await pool.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    reply = await saving
    assert (reply.status, reply.code) == (409, "CONFLICT")
    assert (await api.get(path)).body["content"] == "Theirs."


async def test_every_overwritten_text_becomes_a_revision(api: Api, chapter: dict[str, Any]) -> None:
    await save(api, chapter, content="Second.")
    await save(api, chapter, content="Third.")

    newest, oldest = await revisions(api, chapter)

    assert newest["origin"] == oldest["origin"] == "editor"
    path = f"/chapters/{chapter['id']}/revisions/"
    assert (await api.get(f"{path}{newest['id']}/")).body["content"] == "Second."
    assert (await api.get(f"{path}{oldest['id']}/")).body["content"] == chapter["content"]


async def test_a_save_that_changes_no_text_makes_no_revision(api: Api, chapter: dict[str, Any]) -> None:
    await save(api, chapter, content=chapter["content"], title="Other")

    assert await revisions(api, chapter) == []


async def test_restoring_a_revision_keeps_the_current_text_as_a_revision(api: Api, chapter: dict[str, Any]) -> None:
    await save(api, chapter, content="Worse.")
    [former] = await revisions(api, chapter)

    restored = await api.post(f"/chapters/{chapter['id']}/revisions/{former['id']}/restore/")

    assert restored.body["content"] == chapter["content"]
    newest, _ = await revisions(api, chapter)
    assert newest["origin"] == "restore"
    assert (await api.get(f"/chapters/{chapter['id']}/revisions/{newest['id']}/")).body["content"] == "Worse."


async def test_the_newest_twenty_revisions_are_kept(api: Api, chapter: dict[str, Any]) -> None:
    for number in range(25):
        await save(api, chapter, content=f"Text {number}.")

    kept = await revisions(api, chapter)

    assert len(kept) == 20
    oldest = await api.get(f"/chapters/{chapter['id']}/revisions/{kept[-1]['id']}/")
    assert oldest.body["content"] == "Text 4."


async def test_a_revision_of_another_chapter_is_not_found(api: Api) -> None:
    first, second = (await api.written())["chapters"]
    await save(api, first, content="Changed.")
    [revision] = await revisions(api, first)

    assert (await api.get(f"/chapters/{second['id']}/revisions/{revision['id']}/")).status == 404


async def test_an_emptied_chapter_is_written_by_the_next_run(api: Api, chapter: dict[str, Any]) -> None:
    emptied = await save(api, chapter, content="")

    again = await api.post(f"/books/{chapter['book']}/generate/")
    await api.until(chapter["book"], "completed")

    assert (emptied["status"], emptied["word_count"]) == ("pending", 0)
    assert again.status == 202
    assert (await api.get(f"/chapters/{chapter['id']}/")).body["content"]


async def test_a_text_of_white_space_counts_as_empty_everywhere(api: Api, chapter: dict[str, Any]) -> None:
    saved = await save(api, chapter, content=" \n\u3000\t\n")

    assert (saved["content"], saved["word_count"], saved["status"]) == ("", 0, "pending")
    book = (await api.get(f"/books/{chapter['book']}/")).body
    status = (await api.get(f"/books/{chapter['book']}/generation-status/")).body
    assert [each["status"] for each in book["chapters"]] == ["pending", "completed"]
    assert [each["has_content"] for each in status["outline"]] == [False, True]
    assert (await api.get("/stats/")).body["chapters_written"] == 1
    assert (await api.post(f"/books/{chapter['book']}/generate/")).body["mode"] == "continue"


async def test_regenerating_a_chapter_keeps_its_former_text(api: Api, chapter: dict[str, Any]) -> None:
    await save(api, chapter, content="By hand.")

    rewritten = await api.post(f"/chapters/{chapter['id']}/regenerate/")

    assert rewritten.status == 200
    assert rewritten.body["content"] not in ("", "By hand.")
    assert (await revisions(api, chapter))[0]["origin"] == "regenerate"


async def test_regenerating_counts_as_an_ai_edit_until_none_are_left(open_api: OpenApi) -> None:
    api = await (await open_api(billing="on")).as_new_account("ada")
    chapter = (await api.written())["chapters"][0]

    for _ in range(5):
        assert (await api.post(f"/chapters/{chapter['id']}/regenerate/")).status == 200
    refused = await api.post(f"/chapters/{chapter['id']}/regenerate/")

    assert (refused.status, refused.code) == (429, "QUOTA_EXCEEDED")
    assert refused.body["error"]["details"]["quota_type"] == "ai_edits"
    assert int(refused.headers["Retry-After"]) > 0


async def test_sample_text_is_labelled_until_most_of_it_is_replaced(api: Api) -> None:
    book = await api.written(chapter_count=2, target_word_count=400)
    first, second = book["chapters"]
    edited = first["content"] + "\n\nA sentence of my own."
    copy = (await api.post(f"/books/{book['id']}/duplicate/")).body

    assert [first["is_sample"], second["is_sample"]] == [True, True]
    assert [each["is_sample"] for each in copy["chapters"]] == [True, True]
    assert (await save(api, first, content=edited))["is_sample"] is True
    own = await save(api, first, content="The lamp went out. Nobody had seen the ship. " * 30)
    assert own["is_sample"] is False
    assert (await save(api, second, content=""))["is_sample"] is False

    newest, *_ = await revisions(api, first)
    restored = await api.post(f"/chapters/{first['id']}/revisions/{newest['id']}/restore/")
    assert (restored.body["content"], restored.body["is_sample"]) == (edited, True)
    assert (await api.post(f"/chapters/{second['id']}/regenerate/")).body["is_sample"] is True


async def test_the_sample_model_continues_an_authors_book_with_labelled_text(api: Api) -> None:
    book = await api.outlined(chapter_count=2, target_word_count=400)
    await save(api, book["chapters"][0], content="My own chapter.")

    await api.post(f"/books/{book['id']}/generate/")
    await api.until(book["id"], "completed")

    chapters = (await api.get(f"/books/{book['id']}/")).body["chapters"]
    assert [each["is_sample"] for each in chapters] == [False, True]


async def test_the_chapters_of_one_book_are_listed(api: Api) -> None:
    first, second = await api.outlined(), await api.outlined()
    stranger = await api.as_new_account("eve")

    listed = await api.get(f"/chapters/?book={first['id']}")

    assert [each["id"] for each in listed.body] == [each["id"] for each in first["chapters"]]
    assert len((await api.get("/chapters/")).body) == len(first["chapters"] + second["chapters"])
    assert (await stranger.get(f"/chapters/?book={first['id']}")).body == []
    assert list((await api.get("/chapters/?book=x")).body["error"]["details"]) == ["book"]
