"""Everything an account can do over HTTP to spend as much as possible, and a provider that bills it.

The provider bills in full what it begins to answer, even if the caller disconnects. It shares no counters with the
service.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from aiohttp import web

from bookgen.models import Usage
from bookgen.providers.prices import prices
from tests.fakes.image_server import USAGE, ImageServer
from tests.fakes.model_script import Call, fault
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import WireReply
from tests.http.conftest import Api

TEXT_MODEL, IMAGE_MODEL = "anthropic:claude-sonnet-5-5", "openai:gpt-image-2.5-flare"
FAULTS = ("cut", "hold", "stall", "refusal", "empty", "truncate", "error_event", "drop", "garbage")
DEEDS = 14
SUPPORT = "support"


def cost(model: str, usage: Usage) -> int:
    price = prices().of(model)
    assert price is not None
    return price.of(usage)


class BillingModels(ModelServer):
    """Bills texts, and sometimes thinking that fills the whole reply. In millionths."""

    def __init__(self) -> None:
        self.thinks = Random(0)
        self.billed = 0
        super().__init__()

    async def _reply(self, call: Call, kind: str, options: dict[str, Any]) -> WireReply:
        reply = await super()._reply(call, kind, options)
        if reply.usage is not None:
            if self.thinks.random() < 0.6:
                reply.usage["output"] = max(reply.usage["output"], int(call.body["max_tokens"]))
            if call.stage != SUPPORT:  # anyone may ask the assistant, so it counts only for the server's daily cap
                self.billed += cost(TEXT_MODEL, _told(reply.usage))
        return reply


class BillingPictures(ImageServer):
    def __init__(self) -> None:
        self.billed = 0
        super().__init__()

    async def _answer(self, body: dict[str, Any]) -> web.StreamResponse:
        self.billed += cost(IMAGE_MODEL, Usage(1, USAGE["input_tokens"], USAGE["output_tokens"]))  # type: ignore[arg-type]
        return await super()._answer(body)


def _told(usage: dict[str, int]) -> Usage:
    return Usage(1, usage["input"], usage["output"], usage["cache_write"], usage["cache_read"])


class Spender:
    """One account's day: random actions, most of them concurrent."""

    def __init__(self, api: Api, models: BillingModels, random: Random) -> None:
        self._api, self._models, self._random = api, models, random
        self._books: list[int] = []
        self._chapters: list[int] = []

    async def live(self) -> None:
        await self._draft()
        async with asyncio.TaskGroup() as deeds:
            for _ in range(DEEDS):
                deed = self._random.choice(self._deeds)
                before = len(self._models.requests)
                deeds.create_task(deed(self))
                if self._random.random() < 0.6:
                    await self._heard_of(before)
                if self._random.random() < 0.3:
                    self._models.script(fault(self._random.choice(FAULTS)))
                if self._random.random() < 0.3:
                    self._models.release()
            self._models.forget_script()
            self._models.release()
        for book in self._books if self._random.random() < 0.7 else ():
            await self._ended(book)

    async def _ended(self, book: int) -> None:
        """Wait for the end of the book's run, if it has one."""
        path, known = f"/books/{book}/generation-status/", '"nothing"'
        while True:
            seen = await self._api.get(path, headers={"Prefer": "wait=20", "If-None-Match": known})
            if seen.status not in (200, 304) or seen.body["generation_status"] not in ("queued", "running"):
                return
            known = seen.headers["ETag"]

    async def end(self) -> None:
        """Delete the account's books. Afterwards no call is made for this account."""
        for book in self._books:
            await self._api.delete(f"/books/{book}/")
        self._models.release()
        await self._models.until(lambda: self._models.in_flight == 0)

    async def _heard_of(self, before: int) -> None:
        """Wait briefly for a model call. Not every action makes one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await self._models.arrived(before + 1)

    async def _draft(self) -> None:
        form = {"title": "A Day", "chapter_count": self._random.randint(1, 3), "target_word_count": 900}
        await self._made(await self._api.post("/books/", form))

    async def _childrens(self) -> None:
        form = {"title": "A Fox", "age_range": "3-5", "theme": "Courage", "page_count": 8}
        await self._made(await self._api.post("/books/childrens/", form))

    async def _made(self, reply: Any) -> None:
        if reply.status != 201:
            return
        self._books.append(reply.body["id"])
        outlined = await self._api.post(f"/books/{reply.body['id']}/generate-outline/")
        if outlined.status == 200:
            self._chapters += [chapter["id"] for chapter in outlined.body["chapters"]]

    async def _of_book(self, path: str, body: Any = None) -> Any:
        if self._books:
            return await self._api.post(f"/books/{self._random.choice(self._books)}/{path}/", body)
        return None

    async def _rework(self) -> None:
        if self._chapters:
            await self._of_book("regenerate-chapters", {"chapter_ids": [self._random.choice(self._chapters)]})

    async def _stop_and_start(self) -> None:
        for path in ("generate", "stop-generation", "generate"):
            await self._of_book(path)

    async def _pause_and_resume(self) -> None:
        for path in ("pause-generation", "resume-generation"):
            await self._of_book(path)

    async def _proofread(self) -> None:
        if self._books:
            await self._api.post("/proofreading-reports/", {"book": self._random.choice(self._books)})

    async def _rewrite(self) -> None:
        if self._chapters:
            chapter = self._random.choice(self._chapters)
            await self._api.post(f"/chapters/{chapter}/regenerate/", {"instructions": "More."})

    async def _illustrate(self) -> None:
        if self._chapters:
            await self._api.post(f"/chapters/{self._random.choice(self._chapters)}/generate-image/", {})

    async def _cover(self) -> None:
        await self._of_book("generate-cover", {"count": self._random.randint(1, 4)})

    async def _produce(self) -> None:
        await self._of_book("produce")

    async def _generate(self) -> None:
        await self._of_book("generate")

    async def _outline(self) -> None:
        await self._of_book("generate-outline")

    async def _ask(self) -> None:
        await self._api.post("/chatbot/ask/", {"question": "How do I export a book?"})

    async def _delete(self) -> None:
        if self._books:
            await self._api.delete(f"/books/{self._books.pop(self._random.randrange(len(self._books)))}/")

    _deeds: tuple[Callable[[Spender], Awaitable[None]], ...] = (
        _draft, _draft, _childrens, _rework, _stop_and_start, _stop_and_start, _pause_and_resume, _proofread,
        _rewrite, _illustrate, _cover, _produce, _generate, _generate, _outline, _ask, _delete,
    )  # fmt: skip
