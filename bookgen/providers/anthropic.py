"""Anthropic's Messages API through its SDK."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from bookgen.models import Usage
from bookgen.providers.access import Access
from bookgen.providers.attempt import THINKING_ROOM, PartialReply, counted
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.events import read_events
from bookgen.providers.failures import output_limit, said, status_of
from bookgen.providers.prices import prices
from bookgen.providers.reading import StreamedReply
from bookgen.providers.schema import strict
from bookgen.providers.sdk import SdkProvider
from bookgen.providers.text import Block, Message, StopReason, TextRequest
from bookgen.providers.unstreamed import parts, whole_reply

BASE_URL = "https://api.anthropic.com"
MAX_BREAKPOINTS = 4
MAX_TOKENS = 128_000
EFFORT = "low"
_SPOKEN = {"effort": "effort", "format": "output format"}  # what error messages call these fields
# Unknown stop reasons are newer than this table; treat the text as cut.
_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.END,  # no tool is offered
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


class AnthropicProvider(SdkProvider):
    provider = "anthropic"
    _unknown: frozenset[str] = frozenset()  # parts of output_config that this model or server does not know

    def __init__(
        self, model: str, access: Access | None = None, *, deadlines: Deadlines | None = None, connections: int = 16
    ) -> None:
        super().__init__(model, access, deadlines=deadlines, connections=connections)
        self._most_tokens = prices().max_output(self.name) or MAX_TOKENS

    @property
    def _sdk(self) -> Any:
        import anthropic

        return anthropic

    def _open(self) -> Any:
        base_url = (self._access.url or BASE_URL).rstrip("/").removesuffix("/v1")
        return self._sdk.AsyncAnthropic(base_url=base_url, **self._client_options())

    async def _ask(self, client: Any, request: TextRequest, partial: PartialReply) -> StopReason | None:
        self._fit(request, partial)
        async with AsyncExitStack() as held:
            while True:
                sent = self._options(request)
                response = client.messages.with_streaming_response.create(
                    model=self._model,
                    max_tokens=min(request.max_tokens + THINKING_ROOM, self._most_tokens),
                    system=_system(request),
                    messages=_messages(request),
                    stream=True,
                    **({"output_config": sent} if sent else {}),
                )
                try:
                    streamed = await self._streamed(held, response, partial)
                    break
                except Exception as error:
                    if not self._adapt_to_error(error, sent):
                        raise
            return await _listen(streamed, partial)

    def _options(self, request: TextRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"effort": EFFORT}
        if request.schema is not None:
            options["format"] = {"type": "json_schema", "schema": strict(request.schema)}
        return {name: value for name, value in options.items() if name not in self._unknown}

    def _adapt_to_error(self, error: Exception, sent: Iterable[str]) -> bool:
        """If the server rejected an optional field or the number of tokens, avoid that in later requests.

        Return whether the error was of this kind, so that the request is worth sending again. `sent`: the names of the
        optional fields in the rejected request.
        """
        if status_of(error) not in (400, 422):
            return False
        limit = output_limit(error)
        if limit is not None and limit < self._most_tokens:
            self._most_tokens = limit
            return True
        named = _named(said(error), set(sent))
        self._unknown |= named
        return bool(named)


def _named(words: str, options: set[str]) -> set[str]:
    exact = {name for name in options if f"output_config.{name}" in words}
    if exact or "output_config" in words:
        return exact or options
    return {name for name, spoken in _SPOKEN.items() if name in options and spoken in words}


def _system(request: TextRequest) -> list[dict[str, Any]]:
    marked = _breakpoints(request)
    return [_block(block, id(block) in marked) for block in request.system if block.text]


def _messages(request: TextRequest) -> list[dict[str, Any]]:
    marked = _breakpoints(request)
    return [{"role": one.role, "content": [_block(one, id(one) in marked)]} for one in request.messages]


def _breakpoints(request: TextRequest) -> set[int]:
    """Return the `id()` of each part of the prompt at which the provider gets a cache breakpoint.

    The provider caches the prompt up to each breakpoint. The API accepts four, so only the last four parts with `cache`
    set get one.
    """
    parts: list[Block | Message] = [*request.system, *request.messages]
    return {id(part) for part in [part for part in parts if part.cache and part.text][-MAX_BREAKPOINTS:]}


def _block(part: Block | Message, marked: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": part.text}
    return {**block, "cache_control": {"type": "ephemeral"}} if marked else block


def _read_whole(partial: PartialReply, message: Mapping[str, Any]) -> StopReason | None:
    reason = message.get("stop_reason")
    partial.events = int(reason is not None)
    partial.text.extend(part["text"] for part in parts(message, "content") if part.get("type") == "text")
    _store_usage(partial, message.get("usage"))
    return _STOPS.get(reason, StopReason.LENGTH) if reason else None


async def _listen(streamed: StreamedReply, partial: PartialReply) -> StopReason | None:
    if (whole := await whole_reply(streamed)) is not None:
        return _read_whole(partial, whole)
    reason, finished = None, False
    async for event in read_events(streamed.reads()):
        partial.events += 1
        match event.get("type"):
            case "message_start":
                _store_usage(partial, event["message"].get("usage"))
            case "content_block_delta" if event["delta"].get("type") == "text_delta":
                partial.add(event["delta"]["text"])
            case "message_delta":
                reason = event["delta"].get("stop_reason")
                _store_usage(partial, event.get("usage"))
            case "message_stop":
                finished = True
    return _STOPS.get(reason, StopReason.LENGTH) if finished and reason else None


def _store_usage(partial: PartialReply, usage: Mapping[str, Any] | None) -> None:
    """Store the token counts that an event reports in `partial.usage`.

    The new counts replace earlier ones, because each event reports the totals so far. `usage` is None if the event
    reports no counts.
    """
    if usage is None:
        return
    fields = {
        "input_tokens": "input_tokens",
        "output_tokens": "output_tokens",
        "cache_write_tokens": "cache_creation_input_tokens",
        "cache_read_tokens": "cache_read_input_tokens",
    }
    counts = {ours: usage.get(theirs) for ours, theirs in fields.items()}
    known: dict[str, Any] = {name: counted(count) for name, count in counts.items() if count is not None}
    partial.usage = replace(partial.usage if partial.usage.calls else Usage(calls=1), **known)
