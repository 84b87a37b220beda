"""Providers of texts and pictures that serve many accounts side by side, and keep notes of what each was given.

The titles of an account's books and chapters name the account, and so does each prompt about them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes.image_server import ImageServer
from tests.fakes.model_script import Call, ScriptedFault, fault
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import Stream, WireReply

TITLE = "Reader{reader} at Sea Book{book}"
CHAPTER_TITLE = "Part {number} of Reader{reader}"
READER, BOOK = re.compile(r"Reader(\d+)"), re.compile(r"Reader\d+ at Sea Book(\d+)")
TITLES = re.compile(r'("title": ?")')
MARK = re.compile(r"(?:OUTLINE|REWORK|EDIT)-\d+-(?:OUTLINE|REWORK|EDIT)")


@dataclass(frozen=True, slots=True)
class Noted:
    """A call in the provider's notes. `book`: the number in the book's title; 0 if the prompt does not have it.
    `marks`: those of jobs in the prompt.
    """

    call: Call
    book: int
    marks: tuple[str, ...]

    def mark(self, kind: str) -> str:
        """The mark of this kind; empty if the prompt has none."""
        return next((mark for mark in self.marks if mark.startswith(kind)), "")

    @property
    def asked(self) -> int:
        return int(self.call.brief.get("words", 0))

    def __str__(self) -> str:
        call, sent = self.call, len(self.call.reply.split())
        work = f"{call.stage} of book {self.book} {self.marks}"
        return f"{work}: {self.asked} words asked, {sent} sent, {call.fault or 'no fault'}, {call.ended}"


class AnswerGate:
    """Opens for those who wait at it, and closes behind them."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._opened.set()
        self._opened = asyncio.Event()

    async def wait(self) -> None:
        await self._opened.wait()


class Notes:
    """What the providers did for one account, and how they are to answer it."""

    def __init__(self) -> None:
        self.calls: list[Noted] = []
        self.pictures = 0
        self.in_flight = 0
        self.gate = AnswerGate()
        self._script: list[str] = []
        self._news = asyncio.Condition()

    def script(self, *kinds: str) -> None:
        """Have further calls answered with faults of these kinds. The empty one is no fault."""
        self._script += kinds

    def forget_script(self) -> None:
        self._script.clear()

    def next_step(self) -> ScriptedFault | None:
        if not self._script or not (kind := self._script.pop(0)):
            return None
        return fault(kind, until=self.gate, **({"text": "Just these words."} if kind == "text" else {}))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self._news:
            await self._news.wait_for(condition)

    async def arrived(self, count: int) -> None:
        """Wait for call number `count`."""
        await self.until(lambda: len(self.calls) >= count)

    async def tell(self) -> None:
        async with self._news:
            self._news.notify_all()


class AllNotes:
    """The notes on every account, by the number in the titles of its books."""

    def __init__(self) -> None:
        self._of: defaultdict[int, Notes] = defaultdict(Notes)

    def of(self, reader: int) -> Notes:
        return self._of[reader]

    def forget(self, reader: int) -> None:
        self._of.pop(reader, None)


class NotingModels(ModelServer):
    """Every reply costs another number of tokens, by which it is known in the ledger."""

    def __init__(self, notes: AllNotes) -> None:
        self._notes = notes
        super().__init__()

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        prompt = json.dumps(call.body)
        reader, book = READER.search(prompt), BOOK.search(prompt)
        assert reader, f"a call of the stage {call.stage} that names no account"
        call.brief["reader"] = int(reader[1])
        notes = self._notes.of(int(reader[1]))
        notes.calls.append(Noted(call, int(book[1]) if book else 0, tuple(MARK.findall(prompt))))
        notes.in_flight += 1
        await notes.tell()
        try:
            return await super()._answer(request, call)
        finally:
            notes.in_flight -= 1
            call.body = {}  # thousands of prompts need not be kept
            await asyncio.shield(notes.tell())

    def _next_step(self, call: Call) -> ScriptedFault | None:
        return self._notes.of(call.brief["reader"]).next_step()

    async def _reply(self, call: Call, kind: str, options: dict[str, Any]) -> WireReply:
        reply = await super()._reply(call, kind, options)
        if call.stage in ("outline", "rework"):
            reply.text = TITLES.sub(rf"\1Reader{call.brief['reader']}, ", reply.text)
        if reply.usage is not None:
            reply.usage["output"] += call.number * 10_000
        call.brief["told"] = reply.usage["output"] if reply.usage else 0
        return reply

    async def _pieces(self, text: str, kind: str, options: dict[str, Any], stream: Stream) -> AsyncIterator[str]:
        """A call that stalls is half streamed, and goes on once it is released."""
        if kind == "stall":
            half = len(text) // 2
            yield text[:half]
            await options["until"].wait()
            text = text[half:]
        async for piece in super()._pieces(text, "", options, stream):
            yield piece


class NotingPictures(ImageServer):
    def __init__(self, notes: AllNotes) -> None:
        self._notes = notes
        super().__init__()

    async def _answer(self, body: dict[str, Any]) -> web.StreamResponse:
        reader = READER.search(str(body["prompt"]))
        assert reader, "a picture that names no account"
        self._notes.of(int(reader[1])).pictures += 1
        self.requests.clear()
        return await super()._answer(body)
