"""OpenAI's Responses API."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from bookgen.providers.attempt import THINKING_ROOM, CallFailed, Cure, FailureKind, PartialReply
from bookgen.providers.events import read_events
from bookgen.providers.failures import CREDIT_SPENT, filtered, output_limit, said, status_of
from bookgen.providers.json_mode import JsonLadder, JsonMode
from bookgen.providers.openai_usage import usage_of
from bookgen.providers.reading import StreamedReply
from bookgen.providers.schema import strict
from bookgen.providers.text import StopReason, TextRequest
from bookgen.providers.unstreamed import parts, whole_reply

MAX_TOKENS = 128_000
EFFORT = "low"
Payload: TypeAlias = Mapping[str, Any]  # JSON from the server
_POLICIES = re.compile(r"policy|invalid_prompt|content_filter|moderation")


class ResponsesProtocol:
    """Requests and replies of the Responses API. An instance remembers which fields its server supports.

    `official`: whether the server is OpenAI's own. Only this server gets fields that other servers do not know.
    """

    def __init__(self, model: str, *, official: bool, max_output: int | None = None) -> None:
        self.model, self._official = model, official
        self.json = JsonLadder()
        self._unknown: set[str] = set()
        self._most_tokens = max_output or MAX_TOKENS

    def added(self, request: TextRequest) -> str:
        """Return the text that is added to the prompt to ask for JSON: always empty, because this API needs none."""
        return ""

    def body(self, request: TextRequest, prompt: int = 0) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "instructions": "\n\n".join(block.text for block in request.system if block.text),
            "input": [{"role": one.role, "content": one.text} for one in request.messages],
            "max_output_tokens": min(request.max_tokens + THINKING_ROOM, self._most_tokens),
            "stream": True,
            **(self._own_fields(request) if self._official else {}),
        }
        if request.schema is not None and self.json.mode is JsonMode.SCHEMA:
            named = {"name": request.stage or "reply", "schema": strict(request.schema), "strict": True}
            body["text"] = {"format": {"type": "json_schema", **named}}
        return {name: value for name, value in body.items() if name not in self._unknown}

    def adapt_to_error(self, error: Exception, body: dict[str, Any]) -> bool:
        status = status_of(error)
        limit = output_limit(error)
        if limit is not None and limit < body["max_output_tokens"]:
            self._most_tokens = limit
            return True
        words = said(error)
        named = {name for name in body if f"'{name}" in words or f'"{name}' in words}
        if optional := named & {"store", "reasoning", "prompt_cache_key", "safety_identifier"}:
            self._unknown |= optional
            return True
        return "text" in body and not filtered(error) and self.json.step_down(status, named="text" in named)

    def response(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """Return a context manager that sends `body` when it is entered, and yields the SDK's response."""
        response: AbstractAsyncContextManager[Any] = client.responses.with_streaming_response.create(**body)
        return response

    async def listen(self, streamed: StreamedReply, partial: PartialReply) -> StopReason | None:
        if (whole := await whole_reply(streamed)) is not None:
            return _read_whole(partial, whole)
        refused, stop, asides = False, None, set()
        async for event in read_events(streamed.reads()):
            partial.events += 1
            match event.get("type"):
                case "response.output_item.added" if _is_aside(event["item"]):
                    asides.add(event.get("output_index"))
                case "response.output_text.delta" if event.get("output_index") not in asides:
                    partial.add(event["delta"])
                case "response.refusal.delta" | "response.refusal.done":
                    refused = True
                case "response.completed" | "response.incomplete":
                    whole = event["response"]
                    _store_usage(partial, whole)
                    partial.text[:] = partial.text or _texts(whole)  # some servers send the text only at the end
                    refused = refused or _has_refusal(whole)
                    stop = _stop_of(whole)
                case "response.failed":
                    return _failed(partial, event["response"])
                case "error":
                    return _refusal_or_raise(event)
        return StopReason.REFUSAL if refused and stop is not None else stop

    def _own_fields(self, request: TextRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {"store": False, "reasoning": {"effort": EFFORT}}
        stable = next((block.text for block in request.system if block.cache), "")
        if stable:
            fields["prompt_cache_key"] = _hash(stable)
        if request.account_id is not None:
            fields["safety_identifier"] = _hash(f"account {request.account_id}")
        return fields


def _read_whole(partial: PartialReply, response: Payload) -> StopReason | None:
    if response.get("status") in ("failed", "cancelled"):
        return _failed(partial, response)
    partial.events = len(parts(response, "output"))
    partial.text.extend(_texts(response))
    _store_usage(partial, response)
    return StopReason.REFUSAL if _has_refusal(response) else _stop_of(response)


def _texts(response: Payload) -> list[str]:
    said_aloud = [item for item in parts(response, "output") if not _is_aside(item)]
    contents = [part for item in said_aloud for part in parts(item, "content")]
    return [part["text"] for part in contents if part.get("type") == "output_text"]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _stop_of(response: Payload) -> StopReason:
    reason = (response.get("incomplete_details") or {}).get("reason")
    if reason == "content_filter":
        return StopReason.REFUSAL
    return StopReason.LENGTH if reason or response.get("status") == "incomplete" else StopReason.END


def _has_refusal(response: Payload) -> bool:
    said = [part for item in parts(response, "output") for part in parts(item, "content")]
    return any(part.get("type") == "refusal" for part in said)


def _is_aside(item: Payload) -> bool:
    """Whether the item is the model's commentary on its work, which is not part of the answer."""
    return item.get("phase") == "commentary"


def _failed(partial: PartialReply, response: Payload) -> StopReason:
    _store_usage(partial, response)
    partial.events += 1
    return _refusal_or_raise(response.get("error") or {})


def _refusal_or_raise(error: Payload) -> StopReason:
    """Return REFUSAL if the error means that the model refuses. Raises CallFailed for any other error."""
    code, message = str(error.get("code", "")), str(error.get("message", ""))
    if _POLICIES.search(code):
        return StopReason.REFUSAL
    if "rate_limit" in code:
        raise CallFailed("is busy", FailureKind.BUSY, detail=message)
    if "insufficient_quota" in code:
        raise CallFailed(CREDIT_SPENT, FailureKind.LOCKED_OUT, detail=message, cure=Cure.CREDIT)
    if "invalid" in code:
        raise CallFailed("refused the request", FailureKind.DENIED, detail=message)
    raise CallFailed("failed in mid-answer", FailureKind.AWAY, detail=message)


def _store_usage(partial: PartialReply, response: Payload) -> None:
    if usage := response.get("usage"):
        details = usage.get("input_tokens_details")
        partial.usage = usage_of(usage["input_tokens"], usage["output_tokens"], details)
