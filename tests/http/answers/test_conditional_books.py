"""A caller who has a book or a list hears 304 until it changes."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from bookgen.store.database import Database
from tests.http.conftest import Api, Reply

CALL = "INSERT INTO model_call (book_id, stage, model, cost_micros) VALUES ($1, 'chapter', 'offline', 7)"
PICTURE = """
    WITH picture AS (
        INSERT INTO media (key, book_id, body, width, height) VALUES (repeat('k', 32), $1, '', 10, 10))
    INSERT INTO illustration (chapter_id, caption, alt_text, prompt, image_key, position, width, height)
    SELECT min(id), '', 'A lamp', '', repeat('k', 32), 0, 10, 10 FROM chapter WHERE book_id = $1
"""


@pytest.fixture
async def book(api: Api) -> dict[str, Any]:
    return await api.written()


async def read(api: Api, book: dict[str, Any], **options: Any) -> Reply:
    return await api.get(f"/books/{book['id']}/", **options)


async def test_every_change_of_a_book_changes_its_tag(api: Api, book: dict[str, Any], database: Database) -> None:
    path, chapter = f"/books/{book['id']}", f"/chapters/{book['chapters'][0]['id']}"
    ids = [{"id": each["id"]} for each in book["chapters"]]
    changes = [
        lambda: api.post(f"{path}/update-outline/", {"chapters": [{"title": "One more"}]}),
        lambda: api.post(
            f"{path}/update-outline/", {"chapters": [*reversed(ids), {"title": "Another"}], "replace": True}
        ),
        lambda: api.post(f"{path}/update-outline/", {"chapters": ids, "replace": True}),
        lambda: api.patch(f"{chapter}/", {"content": "Rewritten by its author."}),
        lambda: api.patch(f"{chapter}/", {"title": "Another title"}),
        lambda: api.patch(f"{path}/", {"subtitle": "With a subtitle"}),
        lambda: api.post(f"{path}/generate-cover/", {"count": 1}),
        lambda: api.post(f"{path}/regenerate-chapters/", {"chapter_ids": [book["chapters"][1]["id"]]}),
        lambda: database.http.execute("UPDATE chapter SET summary = 'By another process'"),
        lambda: database.http.execute(CALL, book["id"]),
        lambda: database.http.execute(PICTURE, book["id"]),
        lambda: database.http.execute("DELETE FROM illustration"),
    ]
    tags = [(await read(api, book)).headers["ETag"]]

    for change in changes:
        await change()
        tags.append((await read(api, book)).headers["ETag"])

    assert [place for place, (before, after) in enumerate(pairwise(tags)) if before == after] == []


async def test_who_has_the_book_is_told_so_until_it_changes(api: Api, book: dict[str, Any]) -> None:
    tag = (await read(api, book)).headers["ETag"]

    assert (await read(api, book, headers={"If-None-Match": tag})).status == 304
    await api.patch(f"/books/{book['id']}/", {"genre": "Fable"})
    assert (await read(api, book, headers={"If-None-Match": tag})).body["genre"] == "Fable"


async def test_who_has_the_list_is_told_so_until_it_changes(api: Api, book: dict[str, Any]) -> None:
    tag = (await api.get("/books/")).headers["ETag"]

    assert (await api.get("/books/", headers={"If-None-Match": tag})).status == 304
    covers = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": covers[0]["id"]})
    assert (await api.get("/books/", headers={"If-None-Match": tag})).body[0]["cover_image_url"]


async def test_books_that_are_read_at_one_moment_are_each_of_their_own_account(api: Api) -> None:
    eve = await api.as_new_account("eve")
    mine, hers = (
        (await api.post("/books/", {"title": "Mine"})).body,
        (await eve.post("/books/", {"title": "Hers"})).body,
    )
    reads = [(api, mine), (eve, hers), (api, hers), (eve, mine)]

    replies = await asyncio.gather(*(reader.get(f"/books/{book['id']}/") for reader, book in reads))

    assert [(reply.status, reply.body.get("title")) for reply in replies] == [
        (200, "Mine"),
        (200, "Hers"),
        (404, None),
        (404, None),
    ]


async def test_lists_that_are_read_at_one_moment_are_each_of_their_own_account(api: Api) -> None:
    eve, new = await api.as_new_account("eve"), await api.as_new_account("grace")
    mine = (await api.post("/books/", {"title": "Mine"})).body
    hers = (await eve.post("/books/", {"title": "Hers"})).body
    for reader in (api, eve):
        await reader.get("/books/")
    await eve.patch(f"/books/{hers['id']}/", {"title": "Hers still"})

    replies = await asyncio.gather(*(reader.get("/books/") for reader in (api, eve, new, api, eve)))

    mine_alone, hers_alone = [(mine["id"], "Mine")], [(hers["id"], "Hers still")]
    assert [[(book["id"], book["title"]) for book in reply.body] for reply in replies] == [
        mine_alone,
        hers_alone,
        [],
        mine_alone,
        hers_alone,
    ]
