"""OpenAI's Images API, also on compatible servers."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.attempt import CallFailed, FailureKind, PartialReply
from bookgen.providers.failures import said, status_of
from bookgen.providers.images import ImageModel, ImageReply, ImageRequest, Spent
from bookgen.providers.openai import OpenAIProvider
from bookgen.providers.openai_usage import usage_of
from bookgen.providers.sdk import most_tokens
from bookgen.providers.text import Message, Outage, StopReason, TextModel, TextRequest, paid_for
from bookgen.words import tokens

QUALITY = "medium"
_OPTIONAL = ("quality", "output_format", "moderation", "input_fidelity")  # other servers may not know these
_NO_SUCH_WAY = (404, 405, 501)
REFERRED = "The figures look exactly as in the attached picture: keep faces, shapes, colours and clothes."
_LEAST = 100  # bytes that any picture has
MAX_TOKENS = 6_500  # of a picture at the highest quality, which a server that knows no `quality` may choose


class OpenAIImageProvider(OpenAIProvider):
    """Makes pictures. A reply has the picture as base64 text, so that it is paced, retried and counted like any text.

    The first message of a request is the size, and the last is the prompt. The messages between them are reference
    pictures in base64.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unknown: set[str] = set()
        self._takes_references = True

    def most(self, request: TextRequest) -> Usage:
        pictures, prompt = len(request.messages) - 2, request.messages[-1].text
        read = most_tokens(tokens(prompt)) + MAX_TOKENS * pictures
        return Usage(calls=1, input_tokens=read, output_tokens=MAX_TOKENS, images=1)

    async def _ask(self, client: Any, request: TextRequest, partial: PartialReply) -> StopReason | None:
        body = {
            "model": self._model,
            "prompt": request.messages[-1].text,
            "size": request.messages[0].text,
            "n": 1,
            "quality": QUALITY,
            "output_format": "png",
        }
        reply = await self._painted(client, body, [message.text for message in request.messages[1:-1]])
        partial.events = 1
        usage = getattr(reply, "usage", None)
        if usage is not None:
            details = getattr(usage, "input_tokens_details", None)
            partial.usage = usage_of(usage.input_tokens, usage.output_tokens, details and details.to_dict())
        partial.usage = replace(partial.usage, calls=1, images=1)
        data = reply.data[0].b64_json if getattr(reply, "data", None) else None
        if not data:
            raise CallFailed("sent no picture", FailureKind.GARBLED)
        partial.text.append(data)
        return StopReason.END

    async def _painted(self, client: Any, body: dict[str, Any], references: list[str]) -> Any:
        """Request the picture and return the SDK's response.

        `references`: pictures in base64. They are sent unless the server accepts none. The prompt also describes what
        they show.
        """
        if references and self._takes_references:
            files = [(f"figure{at}.jpg", base64.b64decode(each), "image/jpeg") for at, each in enumerate(references, 1)]
            referred = {"prompt": f"{REFERRED}\n\n{body['prompt']}", "image": files, "input_fidelity": "high"}
            try:
                return await self._sent(client.images.edit, body | referred)
            except Exception as error:
                if not _knows_no_references(error):
                    raise
                self._takes_references = False
        return await self._sent(client.images.generate, body)

    async def _sent(self, send: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> Any:
        """Call the SDK's method `send` with `body` and return its response.

        If the server rejects optional fields, repeat the call without them, and leave them out of later requests.
        """
        while True:
            asked = {name: value for name, value in body.items() if name not in self._unknown}
            try:
                with self._reported_errors():
                    return await send(**asked)
            except Exception as error:
                words, status = said(error), status_of(error)
                named = {name for name in _OPTIONAL if name in asked and name in words}
                if status not in (400, 422) or not named:
                    raise
                self._unknown |= named


class OpenAIImages(ImageModel):
    """Makes pictures. `model`: a text model with pacing and retries, whose provider is an OpenAIImageProvider."""

    def __init__(self, model: TextModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def outage(self) -> Outage | None:
        return self._model.outage

    async def close(self) -> None:
        await self._model.close()

    async def paint(self, request: ImageRequest) -> ImageReply:
        references = [await asyncio.to_thread(_coded, each) for each in request.references]
        reply = await self._model.complete(
            TextRequest(
                stage=request.stage,
                system=(),
                messages=tuple(Message("user", each) for each in (request.size, *references, request.prompt)),
                max_tokens=0,
                chapter_number=request.chapter_number,
                account_id=request.account_id,
                patience=request.patience,
                halt=request.halt,
                budget=request.budget,
            )
        )
        if reply.stop is not StopReason.END:
            raise _failed("The image provider refused this picture.", request, reply.spent, retryable=False)
        with paid_for(reply.spent):
            data = await asyncio.to_thread(_decoded, reply.text)
        if data is None:
            raise _failed("The image provider did not send a picture.", request, reply.spent, retryable=True)
        return ImageReply(data, reply.model, reply.spent)


def _knows_no_references(error: Exception) -> bool:
    """Whether the error means that the server or the model accepts no reference pictures at all."""
    status, words = status_of(error), said(error)
    return status in _NO_SUCH_WAY or (status in (400, 422) and ("edits" in words or "'image'" in words))


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decoded(text: str) -> bytes | None:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return data if len(data) >= _LEAST else None


def _failed(message: str, request: ImageRequest, paid: tuple[Spent, ...], *, retryable: bool) -> UpstreamAIError:
    number = request.chapter_number
    return UpstreamAIError(message, stage=request.stage, retryable=retryable, chapter_number=number, spent=paid)
