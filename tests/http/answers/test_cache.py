"""Cached books and lists always equal what is in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bookgen.http.answers.cache import BOOK_CACHE, LIST_CACHE, AnswerCache, CachedList
from bookgen.store import chapters
from bookgen.store.chapters import Sketch
from bookgen.store.database import DB, Database
from tests.http.conftest import Api, OpenApi, Reply

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


async def test_a_cached_book_equals_the_uncached_one_after_every_change(
    api: Api, book: dict[str, Any], open_api: OpenApi, database: Database
) -> None:
    other = await open_api()
    fresh = replace(other, access=api.access, account_id=api.account_id)
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
        lambda: database.http.execute("UPDATE run SET words_written = words_written + 1"),
    ]
    tags = [(await read(api, book)).headers["ETag"]]

    for change in changes:
        await change()
        kept = await read(api, book)
        other.client.app[BOOK_CACHE].forget(book["id"])
        other.client.app[LIST_CACHE].forget(api.account_id)
        assert kept.body == (await fresh.get(f"{path}/")).body
        assert (await api.get("/books/")).body == (await fresh.get("/books/")).body
        tags.append(kept.headers["ETag"])

    assert all(before != after for before, after in pairwise(tags))


async def test_only_changed_chapters_are_read_again(
    api: Api, book: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await read(api, book)
    sketches, found = chapters.sketch_of_book, list[Sketch]()

    async def noting(db: DB, book_id: int, most: int, known: Sequence[int]) -> list[Sketch]:
        found.extend(await sketches(db, book_id, most, known))
        return found

    monkeypatch.setattr(chapters, "sketch_of_book", noting)
    changed = book["chapters"][1]["id"]
    await api.patch(f"/chapters/{changed}/", {"content": "Rewritten by its author."})

    assert (await read(api, book)).body["chapters"][1]["content"] == "Rewritten by its author."
    assert [(each.chapter.id, each.chapter.content) for each in found] == [(changed, "Rewritten by its author.")]


async def test_the_book_is_a_304_until_it_changes(api: Api, book: dict[str, Any]) -> None:
    tag = (await read(api, book)).headers["ETag"]

    assert (await read(api, book, headers={"If-None-Match": tag})).status == 304
    await api.patch(f"/books/{book['id']}/", {"genre": "Fable"})
    assert (await read(api, book, headers={"If-None-Match": tag})).body["genre"] == "Fable"


async def test_a_cached_book_is_hidden_from_other_accounts(api: Api, book: dict[str, Any]) -> None:
    await read(api, book)

    assert (await read(await api.as_new_account("grace"), book)).status == 404


async def test_the_list_is_a_304_until_it_changes(api: Api, book: dict[str, Any]) -> None:
    tag = (await api.get("/books/")).headers["ETag"]

    assert (await api.get("/books/", headers={"If-None-Match": tag})).status == 304
    covers = (await api.post(f"/books/{book['id']}/generate-cover/", {"count": 1})).body["covers"]
    await api.post(f"/books/{book['id']}/select-cover/", {"cover_id": covers[0]["id"]})
    assert (await api.get("/books/", headers={"If-None-Match": tag})).body[0]["cover_image_url"]


def test_the_least_recently_used_answers_are_evicted_first() -> None:
    cache = AnswerCache[CachedList](most_bytes=100)
    cache.keep(1, CachedList("1", bytes(40)))
    cache.keep(2, CachedList("2", bytes(40)))
    assert cache.find(1, "1")

    cache.keep(3, CachedList("3", bytes(40)))

    assert cache.find(1, "1")
    assert cache.find(2, "2") is None
    assert cache.find(3, "an older one") is None


async def test_concurrent_reads_of_books_do_not_mix_accounts(api: Api) -> None:
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


async def test_concurrent_reads_of_lists_do_not_mix_accounts(api: Api) -> None:
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
