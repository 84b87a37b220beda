"""The running service, with a fake model provider that sends an author's recorded replies."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.authored.author import AuthorServer, RecordedAuthor, without_ours
from bench.authored.compare import Difference, compare, told
from bench.authored.corpus import AuthoredBook
from bench.authored.rows import BookResult, ChapterResult
from bench.service.processes import RATES
from bookgen.client import ApiError, BookHandle, Client
from bookgen.words import count_words
from tests.service import ServiceProcess

MODEL = "anthropic:claude-sonnet-5-5"
EVENT_CHARACTERS = 24
PAUSE_SECONDS = 0.05  # between two polls, instead of the client's one second
BOOK_SECONDS = 300


@dataclass(frozen=True)
class Press:
    """A running service, a signed-in client, and the model server."""

    client: Client
    server: AuthorServer

    async def print(self, book: AuthoredBook) -> BookResult:
        """Have the service write the book from the recorded replies, and compare the result."""
        author = self.server.author = RecordedAuthor(book)
        try:
            async with asyncio.timeout(BOOK_SECONDS):
                handle = await self.create(book)
                await handle.write()
        except (ApiError, TimeoutError) as error:
            return BookResult(book.name, book.words, calls=author.calls, failure=f"failed: {error}")
        findings = handle.data["quality"]
        lengths = {each["chapter_number"] for each in findings if each["kind"] == "length"}
        chapters = [await self.judge(book, chapter, lengths) for chapter in handle.chapters]
        kinds = Counter(str(each["kind"]) for each in findings)
        return BookResult(book.name, book.words, tuple(chapters), kinds, author.calls)

    async def create(self, book: AuthoredBook) -> BookHandle:
        fields = dict(book.body)
        title = fields.pop("title")
        if book.is_childrens:
            return await self.client.books.create_childrens(title, fields.pop("age_range"), **fields)
        return await self.client.books.create(title, **fields)

    async def judge(self, book: AuthoredBook, chapter: dict[str, Any], lengths: set[int]) -> ChapterResult:
        """Compare a chapter from the API with the author's reply.

        `lengths`: chapters with a finding about their length.
        """
        number = chapter["chapter_number"]
        difference = compare(book.text(number), without_ours(chapter["content"]))
        former = [] if difference.is_none else await self._former_texts(chapter["id"])
        unrecorded, recorded = _unrecorded(book.text(number), difference, former)
        return ChapterResult(
            number,
            count_words(book.text(number)),
            chapter["target_word_count"],
            difference,
            unrecorded,
            difference.changes if recorded else 0,
            number in lengths,
        )

    async def _former_texts(self, chapter_id: int) -> list[str]:
        listed = await self.client.call("GET", f"/chapters/{chapter_id}/revisions/")
        texts = [await self.client.call("GET", f"/chapters/{chapter_id}/revisions/{each['id']}/") for each in listed]
        return [text["content"] for text in texts]


def _unrecorded(reply: str, difference: Difference, former: list[str]) -> tuple[tuple[str, ...], bool]:
    """The lost sentences that are in no former text, and whether one of the former texts is the whole reply."""
    kept = {sentence for text in former for sentence in told(text)}
    whole = any(compare(reply, without_ours(text)).is_none for text in former)
    return tuple(sentence for sentence in difference.lost if sentence not in kept), whole


@contextlib.asynccontextmanager
async def press(folder: Path) -> AsyncIterator[Press]:
    """The service, ready, with its own database in `folder`."""
    async with AuthorServer() as server:
        server.configure(chunk=EVENT_CHARACTERS)
        settings = {
            "BOOKGEN_MODEL": MODEL,
            "BOOKGEN_IMAGE_MODEL": "offline",
            "BOOKGEN_BILLING": "off",
            "BOOKGEN_SECRET_KEY": "a secret key of a bench, 32 bytes and more",
            "ANTHROPIC_API_KEY": "of-a-bench",
            "ANTHROPIC_BASE_URL": server.anthropic_url,
            **RATES,
        }
        async with (
            ServiceProcess(folder, **settings) as service,
            Client(service.url, pause=_pause) as client,
        ):
            await client.register("author", "author@example.org", "a long phrase of a bench")
            yield Press(client, server)


async def _pause(seconds: float) -> None:
    await asyncio.sleep(min(seconds, PAUSE_SECONDS))
