"""Chat Completions as compatible servers implement it: Ollama, vLLM, LM Studio, llama.cpp, gateways.

At first, requests have only fields that all these servers know. If a server still rejects a field by name, later
requests to the server leave the field out.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from bookgen.providers.attempt import THINKING_ROOM, PartialReply
from bookgen.providers.events import read_events
from bookgen.providers.failures import filtered, no_answer, output_limit, said, sentence, status_of, too_long
from bookgen.providers.json_mode import JsonLadder, JsonMode
from bookgen.providers.openai_usage import usage_of
from bookgen.providers.reading import StreamedReply
from bookgen.providers.schema import strict
from bookgen.providers.text import StopReason, TextRequest
from bookgen.providers.unstreamed import parts, whole_reply
from bookgen.providers.window import ContextWindow
from bookgen.words import tokens

MAX_TOKENS = 128_000
# Servers have many words for a normal end, so any word that is not listed here counts as one.
_STOPS = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), StopReason.LENGTH),
    **dict.fromkeys(("content_filter", "sensitive", "safety", "refusal"), StopReason.REFUSAL),
}
_BROKE_OFF = frozenset({"error", "abort", "cancelled", "network_error", "insufficient_system_resource"})
_UNKNOWN_FIELD = re.compile(
    r"unsupported|not supported|unknown|unrecognized|unexpected|not permitted|forbidden|not allowed|invalid param|"
    r"unavailable|must be|instead"
)
_WINDOW = re.compile(r"maximum context (?:length|window) (?:is|of) (\d+)")
_PROMPT = re.compile(r"(\d+) (?:input tokens|in the messages)")
_THOUGHT = re.compile(r"\A\s*(?:<think(?:ing)?>)?.*?</think(?:ing)?>\s*", re.DOTALL)
_UNFINISHED_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*\Z", re.DOTALL)
_TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")
_RESPONSE_FORMAT = re.compile(
    r"response[_ ]?format|json_schema|json_object|structured|requested parameters|grammar|invalid format"
)

MAX_SCHEMA_SHARE = 0.06  # of the context window
OBJECT_ASKED = "\n\nAnswer with one JSON object and nothing else, no code fence."
SCHEMA_SHOWN = " It must fit this JSON Schema:\n<schema>{schema}</schema>"


class ChatProtocol:
    """Requests and replies of Chat Completions. An instance remembers which fields and modes its server supports."""

    def __init__(self, model: str, window: ContextWindow, max_output: int | None = None) -> None:
        self.model = model
        self._window = window
        self._token_field = _TOKEN_FIELDS[0]
        self.json = JsonLadder()
        self._tells_usage = True
        self._most_tokens = max_output or MAX_TOKENS
        self._thinks = False
        self._thinking_room = THINKING_ROOM

    def body(self, request: TextRequest, prompt: int = 0) -> dict[str, Any]:
        """Return the JSON body of the HTTP request.

        `prompt`: the estimated tokens of the prompt. The reply, including the model's thoughts, is limited to the rest
        of the context window.
        """
        room = min(request.max_tokens + (self._thinking_room if self._thinks else 0), self._most_tokens)
        left = self._window.room(prompt)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": self._messages(request),
            "stream": True,
            self._token_field: room if left is None else min(room, left),
        }
        if self._tells_usage:
            body["stream_options"] = {"include_usage": True}
        if request.schema is not None and self.json.mode is not JsonMode.PROMPT:
            body["response_format"] = self._response_format(request)
        return body

    def adapt_to_error(self, error: Exception, body: dict[str, Any]) -> bool:
        """Change later requests so that they avoid this error. Return whether the request is worth sending again.

        `body`: the body of the request that failed. A rejected field is left out or renamed, replies are made shorter,
        or JSON is requested in a plainer mode. Some servers do not name the cause of an error, so a plainer mode is
        tried in this case, too.
        """
        words, limit = said(error), output_limit(error)
        if limit is not None and limit < body[self._token_field]:
            self._most_tokens = limit
            return True
        status = status_of(error)
        if too_long(error):
            return self._reduce_thinking_room(words, body)
        if status in (400, 422, 501) and _UNKNOWN_FIELD.search(words) and self._adapt_to_unknown_field(words, body):
            return True
        if "response_format" not in body or filtered(error):
            return False
        return self.json.step_down(status, named=bool(_RESPONSE_FORMAT.search(words)))

    def _adapt_to_unknown_field(self, words: str, body: dict[str, Any]) -> bool:
        """Leave out or rename the field that the error names. Return whether that was possible."""
        if "stream_options" in body and re.search(r"stream_options|include_usage", words):
            self._tells_usage = False
            return True
        if self._token_field == _TOKEN_FIELDS[0] and _TOKEN_FIELDS[0] in words:
            self._token_field = _TOKEN_FIELDS[1]
            return True
        return False

    def _reduce_thinking_room(self, words: str, body: dict[str, Any]) -> bool:
        """Leave fewer tokens for thoughts, so that the prompt and the reply fit the context window.

        Return whether that was possible.
        """
        if not self._thinks or not self._thinking_room:
            return False
        window, prompt = _WINDOW.search(words), _PROMPT.search(words)
        asked = int(body[self._token_field]) - self._thinking_room
        left = int(window[1]) - int(prompt[1]) - asked if window and prompt else 0
        self._thinking_room = min(max(left, 0), self._thinking_room - 1)
        return True

    def response(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """Return a context manager that sends `body` when it is entered, and yields the SDK's response."""
        response: AbstractAsyncContextManager[Any] = client.chat.completions.with_streaming_response.create(**body)
        return response

    async def listen(self, streamed: StreamedReply, partial: PartialReply) -> StopReason | None:
        finish, refused = None, False
        try:
            async for chunk in _chunks(streamed):
                partial.events += 1
                if usage := chunk.get("usage"):
                    self._store_usage(partial, usage)
                for choice in chunk.get("choices") or ():
                    finish = choice.get("finish_reason") or finish
                    if delta := choice.get("delta") or choice.get("message"):
                        refused = self._read_delta(partial, delta) or refused
        finally:
            partial.text[:] = [_without_thoughts("".join(partial.text))]
        if finish is None or finish.lower() in _BROKE_OFF:
            return None
        return StopReason.REFUSAL if refused else _STOPS.get(finish.lower(), StopReason.END)

    def _read_delta(self, partial: PartialReply, delta: Mapping[str, Any]) -> bool:
        """Add a piece of the reply to `partial`. Return whether the piece says that the model refuses."""
        content = delta.get("content") or ""
        thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
        self._thinks = self._thinks or bool(thought) or "<think" in content
        partial.written += len(thought)
        partial.add(content)
        return bool(delta.get("refusal"))

    def _store_usage(self, partial: PartialReply, usage: Mapping[str, Any]) -> None:
        details = usage.get("completion_tokens_details") or {}
        self._thinks = self._thinks or bool(details.get("reasoning_tokens"))
        if usage.get("prompt_tokens") is not None:
            prompt, output = usage["prompt_tokens"], usage.get("completion_tokens")
            partial.usage = usage_of(prompt, output, usage.get("prompt_tokens_details"))

    def _messages(self, request: TextRequest) -> list[dict[str, str]]:
        system = "\n\n".join(block.text for block in request.system if block.text)
        turns = [{"role": one.role, "content": one.text} for one in request.messages]
        if request.schema is not None and self.json.mode is not JsonMode.SCHEMA:
            turns[-1]["content"] += self.added(request)
        return [{"role": "system", "content": system}, *turns] if system else turns

    def added(self, request: TextRequest) -> str:
        """Return the text that is added to the prompt to ask for JSON; empty if none is needed.

        The text contains the schema, unless the context window is small. The prompt itself also shows the form of the
        reply.
        """
        if request.schema is None or self.json.mode is JsonMode.SCHEMA:
            return ""
        schema, window = json.dumps(request.schema, ensure_ascii=False), self._window.estimated
        if window is not None and tokens(schema) > window * MAX_SCHEMA_SHARE:
            return OBJECT_ASKED
        return OBJECT_ASKED + SCHEMA_SHOWN.format(schema=schema)

    def _response_format(self, request: TextRequest) -> dict[str, Any]:
        if self.json.mode is JsonMode.OBJECT or request.schema is None:
            return {"type": "json_object"}
        schema = {"name": request.stage or "reply", "schema": strict(request.schema), "strict": True}
        return {"type": "json_schema", "json_schema": schema}


async def _chunks(streamed: StreamedReply) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of the reply.

    If the server sends the whole reply at once, it is yielded as one chunk, which has a `message` instead of a `delta`.
    """
    whole = await whole_reply(streamed)
    if whole is None:
        async for chunk in read_events(streamed.reads()):
            yield chunk
    elif parts(whole, "choices"):
        yield whole
    else:
        raise no_answer(sentence(whole))


def _without_thoughts(text: str) -> str:
    """Return the text without the model's thoughts, which some servers send at the beginning of the text."""
    if "</think" in text:
        return _THOUGHT.sub("", text, count=1)
    return _UNFINISHED_THOUGHT.sub("", text)
