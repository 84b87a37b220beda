"""Chapters that say otherwise than the bible have a finding, as long as they do."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from bookgen.services import bible
from bookgen.threads import compute
from tests.http.conftest import Api, OpenApi

ADA, MARSH = (
    {"name": "Ada Brook", "description": "58, left-handed."},
    {"name": "Ada Marsh", "description": "58, left-handed."},
)
FIRST = "Mrs Brook closed the book.\n\nIt was late."
SECOND = "Nobody came.\n\nThe lamp went out suddenly."


@pytest.fixture
async def author(open_api: OpenApi) -> Api:
    return await (await open_api()).as_new_account("ada")


@pytest.fixture
async def book(author: Api) -> int:
    """A book of two written chapters whose author has settled one person."""
    fields = {"title": "A Book", "genre": "Mystery", "chapter_count": 2, "target_word_count": 600}
    book = int((await author.post("/books/", fields)).body["id"])
    await author.post(f"/books/{book}/generate-outline/")
    for chapter, text in zip(await chapters(author, book), (FIRST, SECOND), strict=True):
        await author.patch(f"/chapters/{chapter['id']}/", {"content": text})
    await change(author, book, people=[ADA])
    return book


async def chapters(author: Api, book: int) -> list[dict[str, Any]]:
    return list((await author.get(f"/books/{book}/")).body["chapters"])


async def change(author: Api, book: int, **fields: Any) -> None:
    reply = await author.patch(f"/books/{book}/bible/", fields)
    assert reply.status == 200, reply.body


async def findings(author: Api, book: int) -> list[tuple[int, str, str]]:
    read = (await author.get(f"/books/{book}/")).body["quality"]
    assert {each["kind"] for each in read} <= {"bible"}
    return [(each["chapter_number"], each["excerpt"], each["detail"]) for each in read]


RENAMED = (1, "Mrs Brook closed the book.", "The bible now says “Ada Marsh” instead of “Ada Brook”.")


async def test_a_written_chapter_that_a_changed_bible_contradicts_gets_a_finding(author: Api, book: int) -> None:
    assert await findings(author, book) == []

    await change(author, book, people=[MARSH], avoid=["suddenly"])

    assert await findings(author, book) == [
        RENAMED,
        (2, "The lamp went out suddenly.", "The bible says to avoid “suddenly”."),
    ]


async def test_a_finding_stays_while_its_passage_does_and_goes_once_it_is_mended(author: Api, book: int) -> None:
    first, _ = await chapters(author, book)
    await change(author, book, people=[MARSH])

    await author.patch(f"/chapters/{first['id']}/", {"content": f"{FIRST}\n\nThe clock struck."})
    assert await findings(author, book) == [RENAMED]

    await author.patch(f"/chapters/{first['id']}/", {"content": FIRST.replace("Brook", "Marsh")})
    assert await findings(author, book) == []


async def test_a_finding_goes_if_the_author_takes_the_change_back(author: Api, book: int) -> None:
    await change(author, book, people=[MARSH])

    await change(author, book, people=[ADA])

    assert await findings(author, book) == []


async def test_a_finding_is_part_of_what_makes_a_books_version(author: Api, book: int) -> None:
    before = (await author.get(f"/books/{book}/")).headers["ETag"]

    await change(author, book, people=[MARSH])

    assert (await author.get(f"/books/{book}/", headers={"If-None-Match": before})).status == 200


async def test_saving_the_bible_again_repeats_no_finding(author: Api, book: int) -> None:
    await change(author, book, people=[MARSH])

    await change(author, book, premise="A bridge is sold twice.")

    assert await findings(author, book) == [RENAMED]


LOSE_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1"


async def test_a_change_is_answered_as_done_although_all_connections_are_lost_after_its_commit(
    author: Api, book: int, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = await asyncpg.connect(dsn)
    lost: list[int] = []

    async def losing(*told: Any) -> Any:
        if not lost:
            lost.extend(await operator.fetch(LOSE_ALL, operator.get_server_pid()))
        return await compute(*told)

    monkeypatch.setattr(bible, "compute", losing)

    await change(author, book, people=[MARSH])

    assert lost
    assert await findings(author, book) == [RENAMED]
    await operator.close()


async def test_the_chapters_are_compared_without_a_connection(
    author: Api, book: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_use: list[int] = []

    async def watched(*told: Any) -> Any:
        in_use.append(author.services.database.http.in_use)
        return await compute(*told)

    monkeypatch.setattr(bible, "compute", watched)

    await change(author, book, people=[MARSH])

    assert in_use == [0]
