"""Productions with a recorded editor's reading and a recorded revision: is every change listed in the report?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.authored.author import RecordedAuthor
from bench.authored.compare import compare
from bench.authored.corpus import AuthoredBook
from bench.authored.rows import Bar
from bench.authored.service import BOOK_SECONDS, Press
from bookgen.words import count_words

RECORDED = Path(__file__).parents[2] / "tests/writing/review"
NAMES = ("wrong-note", "name-day", "first-loaf", "die-chronik-von-walsheim")
STAGES = {"review": "reading", "revision": "revision"}


@dataclass(frozen=True, slots=True)
class ProductionResult:
    """A finished production. `unexplained`: chapters that differ from the author's text with the report's changes."""

    name: str
    changed: int
    left: int
    words_added: int
    unexplained: tuple[int, ...]
    calls: tuple[int, int]

    def row(self) -> str:
        findings = self.changed + self.left
        return f"| {self.name} | {findings} | {self.changed} | {self.left} | {self.words_added:+} |"


async def produced(service: Press, book: AuthoredBook) -> ProductionResult:
    """The book that a production of the service makes from the recorded replies."""
    readings = {stage: (RECORDED / book.name / f"{name}.json").read_text("utf-8") for stage, name in STAGES.items()}
    author = service.server.author = RecordedAuthor(book, readings)
    async with asyncio.timeout(BOOK_SECONDS):
        handle = await service.create(book)
        await handle.produce()
    (report,) = [each for each in await _reports(service, handle.id) if each["kind"] == "review"]
    listed = [each async for each in service.client.suggestions(report["id"])]
    applied = [each for each in listed if each["status"] == "applied"]
    unexplained = [
        chapter["chapter_number"]
        for chapter in handle.chapters
        if not await _is_explained(service, book.text(chapter["chapter_number"]), chapter, applied)
    ]
    words = sum(count_words(each["suggested_text"]) - count_words(each["original_text"]) for each in applied)
    calls = author.calls["review"], author.calls["revision"]
    return ProductionResult(book.name, len(applied), len(listed) - len(applied), words, tuple(unexplained), calls)


async def _reports(service: Press, book_id: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await service.client.call("GET", f"/proofreading-reports/?book={book_id}")
    return found


async def _is_explained(service: Press, reply: str, chapter: dict[str, Any], applied: Sequence[dict[str, Any]]) -> bool:
    """Whether the chapter is the author's reply with the changes that the reports list, and its history has the reply.

    Safe proofreading suggestions are applied after the editor's changes. So the newest revision is the text with the
    editor's changes.
    """
    here = [each for each in applied if each["chapter"] == chapter["id"]]
    texts = [chapter["content"]]
    for each in await service.client.call("GET", f"/chapters/{chapter['id']}/revisions/"):
        revision = await service.client.call("GET", f"/chapters/{chapter['id']}/revisions/{each['id']}/")
        texts.append(revision["content"])
    former = next((text for text in texts if compare(reply, text).is_none), None)
    if former is None:
        return False
    for each in sorted(here, key=lambda one: -int(one["start"])):
        if former[each["start"] : each["end"]] != each["original_text"]:
            return False
        former = former[: each["start"]] + each["suggested_text"] + former[each["end"] :]
    return former in texts


def revision_bars(results: Sequence[ProductionResult]) -> Iterator[Bar]:
    unexplained = sum(len(result.unexplained) for result in results)
    yield Bar(
        "chapters of productions that are not the author's text with the listed changes",
        str(unexplained),
        unexplained == 0,
    )
    more = sum(result.calls != (1, 1) for result in results)
    yield Bar("productions with more or less than one reading and one answer", str(more), more == 0)
    changed = sum(result.changed for result in results)
    yield Bar("changes made by these productions", str(changed), changed > 0)
