"""The scripted author behind a real address, with Steps over the real SDKs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from bookgen.models import Digest, Usage
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.providers.text import Block, Message, StopReason, TextModel, TextReply, TextRequest
from bookgen.writing.chapter import write_chapter
from bookgen.writing.material import ChapterDraft, Material
from bookgen.writing.window import WINDOW
from tests.canaries import CANARY
from tests.fakes.model_script import Call
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import WireReply
from tests.providers.calls import used
from tests.writing.scripted import Answer, request_key

PROTOCOLS = ("anthropic", "openai")
_STOPS = {StopReason.END: "end", StopReason.LENGTH: "length", StopReason.REFUSAL: "refusal"}


class ScriptServer(ModelServer):
    """A model server with the replies of a script."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    async def _reply(self, call: Call, kind: str, options: dict[str, Any]) -> WireReply:
        answer = self.answer(as_request(call), call.brief, call.number)
        text, stop = (answer.text, _STOPS[answer.stop]) if isinstance(answer, TextReply) else (answer, "end")
        return WireReply(text, stop, call.body.get("model", ""), self._usage(call, text))


def as_request(call: Call) -> TextRequest:
    messages = tuple(Message(turn["role"], _text(turn["content"])) for turn in _turns(call))
    number = call.brief.get("chapter_number")
    return TextRequest(call.stage, (Block(told(call)),), messages, 0, chapter_number=number)


def told(call: Call) -> str:
    """The system prompt of a call as received by the server."""
    apart = call.body.get("system") or call.body.get("instructions") or ""
    within = (_text(turn["content"]) for turn in call.body.get("messages", ()) if turn["role"] == "system")
    return _text(apart) or "".join(within)


def _turns(call: Call) -> list[dict[str, Any]]:
    turns = call.body.get("messages") or call.body.get("input") or []
    return [turn for turn in turns if turn["role"] != "system"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def sent(call: Call) -> str:
    """All text of a call as received by the server."""
    return "\n".join([told(call), *(_text(turn["content"]) for turn in _turns(call))])


@dataclass
class Paid:
    """Steps over a real model client. An answered request is not sent again."""

    model: TextModel
    replies: list[TextReply] = field(default_factory=list)
    stored: dict[Any, TextReply] = field(default_factory=dict)

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        key = (request_key(request), attempt)
        if key not in self.stored:
            self.stored[key] = await self.model.complete(request)
            self.replies.append(self.stored[key])
        return self.stored[key]

    async def has(self, request: TextRequest) -> bool:
        return (request_key(request), 0) in self.stored

    def for_concurrent_calls(self) -> Paid:
        return self

    @property
    def usage(self) -> Usage:
        return sum((used(reply.also) + reply.usage for reply in self.replies), Usage())


@contextlib.asynccontextmanager
async def authored(answer: Answer, protocol: str, model: str = "scripted") -> AsyncIterator[tuple[ScriptServer, Paid]]:
    async with ScriptServer(answer) as server:
        client = build_text_model(
            f"{protocol}:{model}",
            ModelSettings(
                {
                    "anthropic": Access(f"key-{CANARY}", server.anthropic_url),
                    "openai": Access(f"key-{CANARY}", server.openai_url),
                }
            ),
        )
        try:
            yield server, Paid(client)
        finally:
            await client.close()


async def write_book(
    material: Material, steps: Any, context_tokens: int = WINDOW
) -> tuple[list[ChapterDraft], Material]:
    """Write every chapter in order, each with the results of the ones before it."""
    drafts = []
    for chapter in material.chapters:
        made: list[Digest] = []
        draft = await write_chapter(
            material, chapter.chapter_number, steps, on_digest=made.append, context_tokens=context_tokens
        )
        drafts.append(draft)
        material = replace(material, digests={**material.digests, **{each.chapter_number: each for each in made}})
        written = replace(chapter, content=draft.content, word_count=draft.word_count, writer=draft.writer)
        chapters = tuple(written if each.id == chapter.id else each for each in material.chapters)
        digests = {**material.digests, **({chapter.chapter_number: draft.digest} if draft.digest else {})}
        material = Material(material.book, chapters, digests, draft.in_parts)
    return drafts, material
