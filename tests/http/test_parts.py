"""Parts of a book: `?fields=`, `Prefer: return=minimal`, and pages of the preview."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api
from tests.http.document import DOCUMENT
from tests.http.forms import BOOK_LISTED, misfits

MINIMAL = {"Prefer": "return=minimal"}
MANY, TEXT = 100, "Salt and light. " * 500
LIMIT = 100_000


@pytest.fixture
async def long(api: Api) -> dict[str, Any]:
    """A book of a hundred chapters, some with texts: 800 kB in total."""
    book = await api.outlined(chapter_count=MANY, target_word_count=100_000)
    for chapter in book["chapters"]:
        await api.patch(f"/chapters/{chapter['id']}/", {"content": TEXT})
    return book


async def test_a_request_for_a_few_fields_of_a_long_book_gets_a_small_answer(api: Api, long: dict[str, Any]) -> None:
    path = f"/books/{long['id']}/"
    cover = (await api.post(f"{path}generate-cover/", {"count": 1})).body["covers"][0]["id"]
    short = "?fields=id,title,chapters.id,chapters.chapter_number,chapters.title,chapters.word_count"

    whole = await api.get(path)
    parts = [
        await api.get(path + short),
        await api.patch(path + short, {"title": "New"}),
        await api.post(f"{path}select-cover/{short}", {"cover_id": cover}),
    ]
    minimal = [
        await api.get(path, headers=MINIMAL),
        await api.patch(path, {"title": "New"}, headers=MINIMAL),
        await api.post(f"{path}select-cover/", {"cover_id": cover}, headers=MINIMAL),
    ]

    assert len(whole.raw) > 5 * LIMIT
    for reply in parts:
        assert (reply.status, len(reply.raw) <= LIMIT) == (200, True)
        assert reply.body.keys() == {"id", "title", "chapters"}
        assert len(reply.body["chapters"]) == MANY
        assert reply.body["chapters"][7].keys() == {"id", "chapter_number", "title", "word_count"}
    for reply in minimal:
        assert (reply.status, len(reply.raw) <= LIMIT) == (200, True)
        assert reply.headers["Preference-Applied"] == "return=minimal"
        assert misfits(reply.body, BOOK_LISTED) == []
        assert not reply.body.keys() & {"chapters", "covers"}


async def test_a_partial_answer_equals_the_same_fields_of_the_full_answer(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/"

    everything = await api.get(f"{path}?fields={','.join(book)}")
    texts = await api.get(f"{path}?fields=chapters.content,estimated_seconds")

    assert everything.body == book
    assert texts.body == {
        "estimated_seconds": book["estimated_seconds"],
        "chapters": [{"content": chapter["content"]} for chapter in book["chapters"]],
    }


async def test_texts_beyond_a_mebibyte_can_be_requested_as_a_part(api: Api) -> None:
    book = await api.outlined()
    for chapter in book["chapters"]:
        await api.patch(f"/chapters/{chapter['id']}/", {"content": "word " * 150_000})

    texts = await api.get(f"/books/{book['id']}/?fields=title,chapters.content")
    titles = await api.get(f"/books/{book['id']}/?fields=chapters.title")

    assert [chapter.keys() for chapter in texts.body["chapters"]] == [{"content"}] * 2
    assert all(chapter["content"] == "word " * 150_000 for chapter in texts.body["chapters"])
    assert titles.body == {"chapters": [{"title": chapter["title"]} for chapter in book["chapters"]]}


async def test_the_etag_of_a_partial_answer_works_in_if_match(api: Api) -> None:
    book = await api.outlined()
    path = f"/books/{book['id']}/"
    part = (await api.get(f"{path}?fields=title")).headers["ETag"]
    minimal = (await api.get(path, headers=MINIMAL)).headers["ETag"]

    unchanged = await api.get(path, headers={"If-None-Match": minimal})
    known = await api.get(path, headers={"If-None-Match": minimal, **MINIMAL})
    changed = await api.patch(path, {"title": "New"}, headers={"If-Match": part, **MINIMAL})
    again = await api.patch(path, {"title": "Newer"}, headers={"If-Match": changed.headers["ETag"]})
    late = await api.patch(path, {"title": "Newest"}, headers={"If-Match": minimal})

    assert unchanged.status == 200, "who has a part does not have the whole"
    assert [known.status, changed.status, again.status, late.status] == [304, 200, 200, 409]


async def test_an_unknown_field_is_refused_by_name(api: Api) -> None:
    book = await api.book()

    refused = await api.get(f"/books/{book['id']}/?fields=title,titel,chapters.nothing")

    assert refused.status == 400
    assert refused.body["error"]["details"]["fields"][0].startswith("No such fields: chapters.nothing, titel.")


async def test_the_preview_can_be_read_in_pages(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/preview-data/"
    whole = (await api.get(path)).body

    first = (await api.get(f"{path}?page=1&page_size=2")).body
    second = (await api.get(f"{path}?page=2&page_size=2")).body
    last = (await api.get(f"{path}?page=1&page_size=200")).body
    beyond = await api.get(f"{path}?page=200")

    assert first == {**whole, "pages": whole["pages"][:2]}
    assert second == {**whole, "pages": whole["pages"][2:4]}
    assert last == whole
    assert (beyond.status, beyond.code) == (404, "NOT_FOUND")


def test_the_openapi_document_lists_the_answers_that_support_parts() -> None:
    documented = {
        operation["operationId"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if {"fields", "Prefer"} <= {each.get("name") for each in operation.get("parameters", ())}
    }

    assert {"read_book", "change_book", "select_cover", "update_outline"} <= documented
