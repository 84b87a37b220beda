"""The body of a GET can be sent back with PATCH, whole and with nulls, and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api

CHANGING = ("updated_at", "status_message")


def lasting(body: dict[str, Any]) -> dict[str, Any]:
    """The body without its `updated_at`."""
    return {name: value for name, value in body.items() if name not in CHANGING}


async def childrens(api: Api) -> dict[str, Any]:
    form = {"title": "The Fox", "age_range": "3-5", "theme": "Sharing", "page_count": 8, "characters": "Pip, a red fox"}
    book = (await api.post("/books/childrens/", form)).body
    return dict((await api.post(f"/books/{book['id']}/generate-outline/")).body)


@pytest.mark.parametrize("make", [Api.book, Api.outlined, Api.written, childrens])
async def test_a_book_can_be_sent_back_as_it_was_read(api: Api, make: Any) -> None:
    path = f"/books/{(await make(api))['id']}/"
    read = await api.get(path)

    sent = await api.patch(path, read.body, headers={"If-Match": read.headers["ETag"]})

    assert sent.status == 200, sent.body
    assert sent.body == read.body
    assert (await api.get(path, headers={"If-None-Match": read.headers["ETag"]})).status == 304


async def test_a_listed_book_can_be_sent_back(api: Api) -> None:
    book = await api.written()
    [listed] = (await api.get("/books/")).body

    assert (await api.patch(f"/books/{book['id']}/", listed)).status == 200


async def test_a_book_that_is_read_and_changed_keeps_the_change(api: Api) -> None:
    book = await api.written()
    path = f"/books/{book['id']}/"

    sent = await api.patch(path, {**book, "title": "Another", "theme": "", "characters": []})

    assert (sent.status, sent.body["title"]) == (200, "Another")


async def test_fields_of_childrens_books_are_refused_for_other_books(api: Api) -> None:
    book = await api.book()

    refused = await api.patch(f"/books/{book['id']}/", {**book, "characters": ["Pip"]})

    assert refused.body["error"]["details"] == {
        "characters": [
            "Only children's books have this field. Leave it out, or create a children's book (POST /books/childrens/)."
        ]
    }


async def test_a_running_childrens_book_can_be_sent_back(api: Api) -> None:
    book = await childrens(api)
    path = f"/books/{book['id']}/"
    assert (await api.post(f"{path}generate/")).status == 202

    assert (await api.patch(path, (await api.get(path)).body)).status == 200
    await api.until(book["id"], "completed")


async def test_chapters_and_bible_and_facts_and_outline_and_profile_can_be_sent_back(api: Api) -> None:
    book = await api.written()
    one = f"/books/{book['id']}/"
    fact = (await api.get(f"{one}facts/")).body[0]["id"]

    for path in (
        f"/chapters/{book['chapters'][0]['id']}/",
        f"{one}bible/",
        f"{one}facts/{fact}/",
        "/auth/profile/",
    ):
        read = (await api.get(path)).body
        sent = await api.patch(path, read)
        assert sent.status == 200, (path, sent.body)
        assert lasting((await api.get(path)).body) == lasting(read), path
    chapters = (await api.get(one)).body["chapters"]
    sent = await api.post(f"{one}update-outline/", {"chapters": chapters, "replace": True})
    assert sent.status == 200, sent.body
    assert [lasting(chapter) for chapter in sent.body["chapters"]] == list(map(lasting, chapters))
    assert (await api.get(f"/chapters/{chapters[0]['id']}/revisions/")).body == []


async def test_an_illustration_can_be_sent_back(api: Api) -> None:
    book = await api.written()
    made = (await api.post(f"/chapters/{book['chapters'][0]['id']}/generate-image/", {})).body

    assert (await api.patch(f"/illustrations/{made['id']}/", made)).body == made


async def test_null_in_an_optional_field_counts_as_not_given(api: Api) -> None:
    book = await api.written()
    one, chapter = f"/books/{book['id']}/", f"/chapters/{book['chapters'][0]['id']}/"

    for path in (one, chapter, f"{one}bible/", "/auth/profile/"):
        read = (await api.get(path)).body
        sent = await api.patch(path, dict.fromkeys(read))
        assert sent.status == 200, (path, sent.body)
        assert lasting((await api.get(path)).body) == lasting(read)
    made = await api.post("/books/", {**dict.fromkeys(book), "title": "A Book"})
    assert (made.status, made.body["chapter_count"], made.body["author_name"]) == (201, 10, "ada")
    covers = await api.post(f"{one}generate-cover/", {"count": None, "style": None})
    assert (covers.status, len(covers.body["covers"])) == (200, 3)


async def test_null_in_a_required_field_is_refused(api: Api) -> None:
    refused = await api.post("/books/", {"title": None})

    assert refused.body["error"]["details"] == {"title": ["Must not be null."]}


async def test_the_default_author_fits_its_field_however_long_the_accounts_name_is(api: Api) -> None:
    await api.patch("/auth/profile/", {"first_name": "A" * 150, "last_name": "B" * 150})
    book = await api.book()

    assert (await api.patch(f"/books/{book['id']}/", book)).status == 200
