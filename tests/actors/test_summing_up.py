"""An edited chapter is summed up once more, with the real writing code."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from bookgen.actors.messages import Generate, RewriteChapter
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.quota import Quota
from bookgen.errors import UpstreamAIError
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.services import editing
from bookgen.store.database import Database
from bookgen.writing.chapter import write_chapter

from .conftest import Shelf, supervising


class Counting(OfflineModel):
    """Answers like the offline model. The second chapter waits for `let_go`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[tuple[str, int | None]] = Counter()
        self.waits, self.let_go = asyncio.Event(), asyncio.Event()
        self.refused: set[int] = set()

    async def complete(self, request: TextRequest) -> TextReply:
        self.asked[request.stage, request.chapter_number] += 1
        if request.stage == "chapter" and request.chapter_number in self.refused:
            raise UpstreamAIError("It refuses.", stage=request.stage, retryable=False)
        if request.chapter_number == 2:
            self.waits.set()
            await self.let_go.wait()
        return await super().complete(request)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
async def writer(database: Database, counting: Counting) -> AsyncIterator[Supervisor]:
    async with supervising(database, counting, write_chapter) as supervisor:
        yield supervisor


async def test_the_digest_of_an_edited_chapter_is_paid_for_once(
    writer: Supervisor, counting: Counting, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=5)
    await writer.ask(account, book, Generate())
    await counting.waits.wait()
    async with shelf.pool.acquire() as connection:
        text = {"content": "The author's own beginning. It is short."}
        await editing.save_chapter(connection, Quota(billing=True), account, await shelf.chapter_id(book, 1), text)

    counting.let_go.set()
    await shelf.until_status(book, "completed")

    assert counting.asked["digest", 1] == 2


async def test_the_digests_of_edited_chapters_are_reused_by_later_rewrites(
    writer: Supervisor, counting: Counting, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=4)
    counting.let_go.set()
    await writer.ask(account, book, Generate())
    await shelf.until_status(book, "completed")
    async with shelf.pool.acquire() as connection:
        for number in (1, 2, 3):
            text = {"content": f"The author wrote chapter {number} anew. It is short."}
            chapter = await shelf.chapter_id(book, number)
            await editing.save_chapter(connection, Quota(billing=True), account, chapter, text)
    counting.asked.clear()

    for _ in range(3):
        await writer.run_job(account, book, RewriteChapter(await shelf.chapter_id(book, 4), 4))

    assert [counting.asked["digest", number] for number in (1, 2, 3)] == [1, 1, 1]


async def test_the_digests_of_earlier_chapters_are_kept_when_the_rewrite_fails(
    writer: Supervisor, counting: Counting, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=4)
    counting.let_go.set()
    await writer.ask(account, book, Generate())
    await shelf.until_status(book, "completed")
    async with shelf.pool.acquire() as connection:
        for number in (1, 2, 3):
            text = {"content": f"The author wrote chapter {number} anew. It is short."}
            chapter = await shelf.chapter_id(book, number)
            await editing.save_chapter(connection, Quota(billing=True), account, chapter, text)
    counting.asked.clear()
    counting.refused = {4}

    for _ in range(3):
        with pytest.raises(UpstreamAIError):
            await writer.run_job(account, book, RewriteChapter(await shelf.chapter_id(book, 4), 4))

    assert [counting.asked["digest", number] for number in (1, 2, 3)] == [1, 1, 1]
