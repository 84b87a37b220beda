"""The form of a reply in each protocol: Anthropic Messages, OpenAI Responses, OpenAI Chat."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

_ids = itertools.count(1)


@dataclass
class WireReply:
    """`stop`: end, length, refusal, filter, or a protocol's own word. `usage`: None sends no usage."""

    text: str
    stop: str
    model: str
    usage: dict[str, int] | None
    reasoning: str = ""
    reasoning_tokens: int = 0
    commentary: str = ""
    deltas: bool = True


class ErrorEvent(Exception):
    """An error that the server sends in mid-stream. `code`: "" for the usual one."""

    def __init__(self, code: str = "", message: str = "scripted") -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Stream:
    """Server-sent events on one response."""

    def __init__(self, request: web.Request, headers: Mapping[str, str]) -> None:
        self._request = request
        self._response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **headers})

    async def open(self) -> None:
        await self._response.prepare(self._request)

    async def send(self, data: object, event: str | None = None) -> None:
        named = f"event: {event}\n" if event else ""
        text = data if isinstance(data, str) else json.dumps(data)
        await self._response.write(f"{named}data: {text}\n\n".encode())

    async def comment(self) -> None:
        await self._response.write(b": still here\n\n")

    async def close(self) -> web.StreamResponse:
        await self._response.write_eof()
        return self._response


class AnthropicWire:
    name = "anthropic"

    def message(self, reply: WireReply) -> dict[str, Any]:
        stops = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal", "filter": "refusal"}
        stop = stops.get(reply.stop, reply.stop)
        details = {"type": "refusal", "category": "general_harms", "explanation": "scripted"}
        message = {
            "id": f"msg_{next(_ids)}",
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": [{"type": "text", "text": reply.text}] if reply.text else [],
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": details if stop == "refusal" else None,
        }
        return message if reply.usage is None else {**message, "usage": self.usage(reply.usage)}

    def usage(self, usage: dict[str, int]) -> dict[str, int]:
        return {
            "input_tokens": usage["input"],
            "cache_creation_input_tokens": usage["cache_write"],
            "cache_read_input_tokens": usage["cache_read"],
            "output_tokens": usage["output"],
        }

    async def stream(self, stream: Stream, reply: WireReply, pieces: AsyncIterator[str]) -> None:
        whole = self.message(reply)
        start = {**whole, "content": [], "stop_reason": None, "stop_details": None}
        if "usage" in whole:
            start["usage"] = {**whole["usage"], "output_tokens": 1}
        await self._event(stream, "message_start", message=start)
        await self._event(stream, "ping")
        index = 0
        if reply.reasoning:
            block = {"type": "thinking", "thinking": "", "signature": ""}
            await self._event(stream, "content_block_start", index=0, content_block=block)
            delta = {"type": "thinking_delta", "thinking": reply.reasoning}
            await self._event(stream, "content_block_delta", index=0, delta=delta)
            await self._event(stream, "content_block_stop", index=0)
            index = 1
        if reply.text:
            await self._event(stream, "content_block_start", index=index, content_block={"type": "text", "text": ""})
        try:
            async for piece in pieces:
                delta = {"type": "text_delta", "text": piece}
                await self._event(stream, "content_block_delta", index=index, delta=delta)
        except ErrorEvent as error:
            told = {"type": error.code or "overloaded_error", "message": error.message}
            await self._event(stream, "error", error=told)
            return
        if reply.text:
            await self._event(stream, "content_block_stop", index=index)
        ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None, "stop_details": whole["stop_details"]}
        await self._event(stream, "message_delta", delta=ending, **({"usage": whole["usage"]} if reply.usage else {}))
        await self._event(stream, "message_stop")

    async def _event(self, stream: Stream, kind: str, **fields: object) -> None:
        await stream.send({"type": kind, **fields}, kind)

    def error(self, status: int, message: str, param: str | None, code: str | None) -> dict[str, Any]:
        kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
        kind = "overloaded_error" if status == 529 else kind
        return {"type": "error", "error": {"type": kind, "message": f"{param}: {message}" if param else message}}


class ResponsesWire:
    name = "responses"

    def message(self, reply: WireReply) -> dict[str, Any]:
        part: dict[str, Any] = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        if reply.stop == "refusal":
            part = {"type": "refusal", "refusal": reply.text or "I can't help with that."}
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(reply.stop)
        status = "incomplete" if reason else "completed"
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": [part]}
        aside = [self._aside(reply)] if reply.commentary else []
        response = {
            "id": f"resp_{next(_ids)}",
            "object": "response",
            "created_at": 1,
            "model": reply.model,
            "status": status,
            "incomplete_details": {"reason": reason} if reason else None,
            "error": None,
            "output": [*aside, item] if reply.text or reply.stop == "refusal" else aside,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "instructions": None,
            "metadata": {},
        }
        return response if reply.usage is None else {**response, "usage": self.usage(reply.usage)}

    def _aside(self, reply: WireReply) -> dict[str, Any]:
        part = {"type": "output_text", "text": reply.commentary, "annotations": [], "logprobs": []}
        whole = {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        return {**whole, "phase": "commentary"}

    def usage(self, usage: dict[str, int]) -> dict[str, Any]:
        return {
            "input_tokens": usage["input"] + usage["cache_write"] + usage["cache_read"],
            "input_tokens_details": {"cached_tokens": usage["cache_read"], "cache_write_tokens": usage["cache_write"]},
            "output_tokens": usage["output"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(usage.values()),
        }

    async def stream(self, stream: Stream, reply: WireReply, pieces: AsyncIterator[str]) -> None:
        whole, number = self.message(reply), itertools.count()

        async def event(kind: str, **fields: object) -> None:
            await stream.send({"type": kind, "sequence_number": next(number), **fields}, kind)

        started = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        await event("response.created", response=started)
        if reply.commentary:
            where = {"output_index": 0, "content_index": 0, "item_id": "msg_0"}
            await event("response.output_item.added", output_index=0, item={**self._aside(reply), "content": []})
            await event("response.output_text.delta", **where, delta=reply.commentary, logprobs=[])
        place = 1 if reply.commentary else 0
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        await event("response.output_item.added", output_index=place, item=item)
        where = {"output_index": place, "content_index": 0, "item_id": "msg_1"}
        try:
            async for piece in pieces:
                if not reply.deltas:
                    continue
                if reply.stop == "refusal":
                    await event("response.refusal.delta", **where, delta=piece)
                else:
                    await event("response.output_text.delta", **where, delta=piece, logprobs=[])
        except ErrorEvent as error:
            told = {"code": error.code or "server_error", "message": error.message}
            failed = {**whole, "status": "failed", "error": told, "usage": None}
            await event("response.failed", response=failed)
            return
        await event(f"response.{whole['status']}", response=whole)

    def error(self, status: int, message: str, param: str | None, code: str | None) -> dict[str, Any]:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class ChatWire:
    name = "chat"

    def message(self, reply: WireReply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
        if reply.stop == "refusal":
            message |= {"content": None, "refusal": reply.text or "I can't help with that."}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        finishes = {"end": "stop", "length": "length", "refusal": "stop", "filter": "content_filter"}
        finish = finishes.get(reply.stop, reply.stop)
        choice = {"index": 0, "finish_reason": finish, "message": message, "logprobs": None}
        whole = {"id": f"chat_{next(_ids)}", "object": "chat.completion", "created": 1, "model": reply.model}
        whole["choices"] = [choice]
        if reply.usage is None:
            return whole
        thought = {"reasoning_tokens": reply.reasoning_tokens}
        return {**whole, "usage": {**self.usage(reply.usage), "completion_tokens_details": thought}}

    def usage(self, usage: dict[str, int]) -> dict[str, Any]:
        return {
            "prompt_tokens": usage["input"] + usage["cache_write"] + usage["cache_read"],
            "prompt_tokens_details": {"cached_tokens": usage["cache_read"]},
            "completion_tokens": usage["output"],
            "total_tokens": sum(usage.values()),
        }

    async def stream(self, stream: Stream, reply: WireReply, pieces: AsyncIterator[str]) -> None:
        whole = self.message(reply)

        async def chunk(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            await stream.send({**head, "choices": [choice]})

        head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": reply.model}
        await chunk({"role": "assistant", "content": ""})
        if reply.reasoning:
            await chunk({"reasoning_content": reply.reasoning})
        try:
            async for piece in pieces:
                await chunk({"refusal": piece} if reply.stop == "refusal" else {"content": piece})
        except ErrorEvent as error:
            told = {"message": error.message, "type": "server_error", "code": error.code or 500}
            await stream.send({"error": told})
            return
        await chunk({}, whole["choices"][0]["finish_reason"])
        if reply.usage is not None:
            await stream.send({**head, "choices": [], "usage": whole["usage"]})
        await stream.send("[DONE]")

    def error(self, status: int, message: str, param: str | None, code: str | None) -> dict[str, Any]:
        return ResponsesWire().error(status, message, param, code)


WIRES: dict[str, AnthropicWire | ResponsesWire | ChatWire] = {
    "messages": AnthropicWire(),
    "responses": ResponsesWire(),
    "completions": ChatWire(),
}
