"""A scripted model that all processes share, and writing code that calls it part by part like the real one.

Every reply has its own number, which it reports as its usage, so that the ledger shows which replies were recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast
from unittest import mock

import orjson

from bookgen.actors import reports as reading
from bookgen.actors.resources import Writing
from bookgen.actors.steps import StoredSteps
from bookgen.errors import UpstreamAIError
from bookgen.models import Book, Chapter, Digest, Usage
from bookgen.providers.text import Message, Spent, StopReason, TextModel, TextReply, TextRequest
from bookgen.writing.material import ChapterDraft, Material, Outline, OutlineChapter
from bookgen.writing.passage import rewrite_passage
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.steps import Steps
from tests.actors.conftest import note_nothing
from tests.sim.loop import Owner, SimulatedLoop

PARTS = 2
NAME = "scripted"


@dataclass(eq=False, slots=True)
class ModelCall:
    """`run`: empty if the call belongs to none. `outcome`: how it ended, as far as its process knows; None while it is
    in flight, until `ended`. `paid`: it used tokens, also if it failed.
    """

    key: str
    book: int
    chapter: int
    run: str
    process: Owner
    began: float
    number: int
    outcome: str | None = None
    ended: float = math.inf
    paid: bool = False


class ScriptedProvider(TextModel):
    """Answers after a delay and reports each call to `asked`. `failing`: the share of calls that fail; some failures
    can be retried and some use tokens.
    """

    name = NAME

    def __init__(
        self,
        loop: SimulatedLoop,
        chance: random.Random,
        trace: Callable[..., None],
        asked: Callable[[ModelCall], None],
        *,
        failing: float,
        pace: float,
    ) -> None:
        self.calls: list[ModelCall] = []
        self.failed_books: set[int] = set()
        self.seen: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        self._loop = loop
        self._chance = chance
        self._trace = trace
        self._asked = asked
        self._failing = failing
        self._pace = pace

    @property
    def writing(self) -> Writing:
        return Writing(
            self.draft_outline,
            self.rework_chapters,
            self.write_chapter,
            self.draft_blurb,
            rewrite_passage,
            note_nothing,
        )

    async def complete(self, request: TextRequest) -> TextReply:
        key = request.messages[-1].text
        book, chapter, run = orjson.loads(key)[:3]
        call = ModelCall(key, book, chapter, run, self._loop.current, self._loop.time(), len(self.calls) + 1)
        self.calls.append(call)
        self._trace(call.process.name, "asks the model", call.number, key)
        self._asked(call)
        seconds = self._chance.choice((0.2, 1, 4, 12)) * self._pace * self._chance.uniform(0.5, 1.5)
        fails, retryable = self._chance.random() < self._failing, self._chance.random() < 0.7
        used = self._chance.random() < 0.7
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            call.outcome = "cancelled"
            raise
        call.ended, call.paid = self._loop.time(), used or not fails
        usage = Usage(calls=1, input_tokens=10, output_tokens=call.number)
        if fails:
            call.outcome = "failed"
            self.failed_books.add(book)
            self._trace(call.process.name, "hears of failure", call.number)
            raise UpstreamAIError(
                "It failed.",
                stage=request.stage,
                retryable=retryable,
                chapter_number=chapter or None,
                spent=(Spent(NAME, usage),) if used else (),
            )
        call.outcome = "replied"
        self._trace(call.process.name, "hears reply", call.number)
        return TextReply(f"Reply {call.number}.", StopReason.END, usage, self.name)

    # Writing

    async def write_chapter(
        self,
        material: Material,
        number: int,
        steps: Steps,
        on_words: Callable[[int], None] | None = None,
        _on_digest: Callable[[Digest], None] | None = None,
    ) -> ChapterDraft:
        """One call for each part of a chapter, with the text so far."""
        book = material.book.id
        self.seen[book, number].add(next(c.content for c in material.chapters if c.chapter_number == number))
        before = [c.content for c in material.chapters if c.chapter_number < number]
        texts: list[str] = []
        for part in range(PARTS):
            texts.append((await steps.reply(_ask("chapter", book, number, steps, part, before))).text)
            if on_words:
                on_words(len(texts) * 2)
        text = " ".join(texts)
        return ChapterDraft(text, len(text.split()), Digest(number, _hash(text), "Summary.", ("A fact.",), (), ()))

    async def draft_blurb(self, material: Material, steps: Steps) -> str:
        return (await steps.reply(_ask("blurb", material.book.id, 0, steps, 0, []))).text

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """A proofreader that calls this model once per chapter and finds nothing."""
        with (
            mock.patch.object(reading, "survey", self._survey),
            mock.patch.object(reading, "read_chapter", self._read_chapter),
        ):
            yield

    async def _survey(self, _book: Book, chapters: AsyncIterator[Chapter]) -> None:
        async for _ in chapters:
            pass

    async def _read_chapter(
        self, book: Book, chapter: Chapter, _seen: None, _flags: object, steps: Steps
    ) -> tuple[list[Correction], None]:
        await steps.reply(_ask("proofreading", book.id, chapter.chapter_number, steps, 0, [chapter.content]))
        return [], None

    async def draft_outline(self, book: Book, steps: Steps) -> Outline:
        reply = await steps.reply(_ask("outline", book.id, 0, steps, 0, []))
        plans = (OutlineChapter(f"New {n} of {reply.text}", "Summary.", 500) for n in range(1, book.chapter_count + 1))
        return Outline({"people": []}, tuple(plans))

    async def rework_chapters(
        self, material: Material, numbers: Sequence[int], instructions: str, steps: Steps
    ) -> dict[int, OutlineChapter]:
        reply = await steps.reply(_ask("rework", material.book.id, 0, steps, 0, [instructions]))
        return {number: OutlineChapter(f"Other {number} of {reply.text}", "Summary.", 500) for number in numbers}


def _ask(stage: str, book: int, chapter: int, steps: Steps, part: int, before: list[str]) -> TextRequest:
    """Calls for other runs or jobs make other requests, because their stored steps have other keys."""
    scope = cast(StoredSteps, steps).scope
    run = str(scope.run_id or "")
    text = orjson.dumps([book, chapter, run, stage, part, str(scope.salt), _hash("".join(before))]).decode()
    return TextRequest(stage, (), (Message("user", text),), 100, chapter_number=chapter or None)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
