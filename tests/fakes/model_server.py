"""A fake model provider with Anthropic Messages, OpenAI Responses and OpenAI Chat at one address, which tests control.

In the process of a test:

    async with ModelServer() as server:
        server.anthropic_url, server.openai_url       # base URLs for the SDKs; any path prefix works
        server.script(fault("status", status=429, retry_after=2), fault("cut"))
        await server.arrived(2)                       # until two calls have arrived
        server.requests[0].body, .headers, .path, .stage, .brief, .reply, .ended
        server.arrivals                               # when each arrived, by the monotonic clock
        server.ledger                                 # tokens as the server counted and reported them

As a process (prints one line, its address; ends with SIGTERM):

    python -m tests.fakes.model_server --port 0

It is controlled over HTTP, with JSON bodies:

    POST   /control/script     [{"fault": "status", "status": 500, "times": 2, "stage": "chapter"}, …]   appends
    DELETE /control/script     removes the remaining steps
    POST   /control/settings   {"length_factor": 0.5, "delay": 0.2, …}                                   changes these
    POST   /control/release    releases every call of `hold`, `hang` or `stall`
    POST   /control/reset      resets script, settings, requests, ledger and cache
    GET    /control/requests   ?since=N   the calls so far: number, protocol, path, stage, brief, body, headers, reply,
                               ended
    GET    /control/ledger     {"calls", "input", "output", "cache_write", "cache_read", "in_flight", "most_in_flight"}

A call with a brief gets the reply of the offline model: chapters of the requested length about the book's people,
outlines with the requested number of chapters, and JSON for the requested schema (from the schema mode of the protocol,
or from `<schema>{…}</schema>` in the last user message). The brief is in the header HEADER, which a service sends if
its environment has TEST_BRIEF_HEADER=HEADER. A call without a brief gets prose.

`model_script` describes the settings and faults.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

from aiohttp import web

from bookgen.providers.sdk import BRIEF_HEADER
from tests.fakes.model_bodies import text_for, whole_prompt
from tests.fakes.model_cache import PrefixCache, anthropic_blocks, tokens
from tests.fakes.model_errors import OVER_THE_WINDOW, has, over_the_window, rejection, status_response
from tests.fakes.model_replies import factor_of, shaped
from tests.fakes.model_script import Call, ScriptedFault, Settings, fault
from tests.fakes.model_wires import WIRES, ErrorEvent, Stream, WireReply

HEADER = "X-Brief"
MAX_HEADER_BYTES = 1 << 20
os.environ.setdefault(BRIEF_HEADER, HEADER)  # for the models of this process and the services that it starts


class _Cut(Exception):
    pass


class ModelServer:
    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host, self._port = host, port
        self._news = asyncio.Condition()
        self._released = asyncio.Event()
        self.reset()

    # For tests in the same process

    def reset(self) -> None:
        self.settings = Settings()
        self.requests: list[Call] = []
        self.arrivals: list[float] = []
        self.ledger = dict.fromkeys(("calls", "input", "output", "cache_write", "cache_read"), 0)
        self.in_flight = self.most_in_flight = 0
        self._script: list[ScriptedFault] = []
        self._cache = PrefixCache()

    def script(self, *steps: ScriptedFault) -> None:
        self._script += [dataclasses.replace(step) for step in steps]

    def forget_script(self) -> None:
        self._script.clear()

    def configure(self, **settings: Any) -> None:
        self.settings = dataclasses.replace(self.settings, **settings)
        self._slots = asyncio.Semaphore(self.settings.slots)

    def release(self) -> None:
        self._released.set()
        self._released = asyncio.Event()

    async def arrived(self, count: int) -> Call:
        """Wait for call number `count`, and return it."""
        await self.until(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self._news:
            await self._news.wait_for(condition)

    @property
    def anthropic_url(self) -> str:
        return self.url

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    async def start(self) -> None:
        """Listen. After a stop, the port is the same as before."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/control/{what}", self._control)
        app.router.add_post("/{path:.*}", self._call)
        app.router.add_get("/{path:.*}", self._models)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1, max_field_size=MAX_HEADER_BYTES
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://{self._host}:{self._port}"

    async def stop(self) -> None:
        """Stop listening, and close every connection."""
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # Calls

    async def _call(self, request: web.Request) -> web.StreamResponse:
        wire = WIRES.get(request.path.rpartition("/")[2])
        if wire is None or wire.name not in self.settings.protocols:
            return web.json_response({"error": {"message": f"no route {request.path}"}}, status=404)
        call = _recorded(len(self.requests) + 1, wire.name, request, await request.json())
        self.requests.append(call)
        self.arrivals.append(time.monotonic())
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        await self._tell()
        try:
            response = await self._answer(request, call)
            call.ended = "answered"
            return response
        except _Cut:
            call.ended = "cut"
            if request.transport is not None:
                request.transport.close()  # unlike `abort`, this delivers what was sent before
            return web.Response()
        except (asyncio.CancelledError, ConnectionError):
            call.ended = "left"
            raise
        finally:
            self.in_flight -= 1
            await asyncio.shield(self._tell())

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        wire = next(wire for wire in WIRES.values() if wire.name == call.protocol)
        for field in self.settings.rejects:
            if has(call.body, field):
                return rejection(wire, field, self.settings.reject_style)
        if self.settings.window and self.settings.window_as in OVER_THE_WINDOW:
            asked = tokens(whole_prompt(call.body)), _reply_room(call.body)
            if refused := over_the_window(self.settings.window_as, self.settings.window, *asked):
                return refused
        step = self._next_step(call)
        call.fault = step.kind if step else ""
        options = step.options if step else {}
        if call.fault in ("hang", "hold", "stall"):  # a release may come before the reply reaches its stall
            options = {"until": self._released, **options}
        if call.fault == "status":
            return status_response(wire, **options)
        if call.fault in ("hang", "hold"):
            await options["until"].wait()
        if call.fault in ("hang", "drop"):
            raise _Cut
        if call.fault == "html":
            return web.Response(text="<html><body>Welcome to the proxy</body></html>", content_type="text/html")
        delay = options.get("seconds", self.settings.delay) if call.fault == "wait" else self.settings.delay
        if delay:
            await asyncio.sleep(delay)
        reply = await self._reply(call, call.fault, options)
        async with self._slots if self.settings.slots else contextlib.nullcontext():
            if not call.body.get("stream") or not self.settings.streams:
                return await self._whole(wire, call, reply, options)
            return await self._streamed(request, wire, call, reply, options)

    def _next_step(self, call: Call) -> ScriptedFault | None:
        step = next((step for step in self._script if step.matches(call)), None)
        if step is not None:
            step.times -= 1
            if step.times <= 0:
                self._script.remove(step)
        return step

    async def _whole(self, wire: Any, call: Call, reply: WireReply, options: dict[str, Any]) -> web.Response:
        if call.fault in ("cut", "stall", "error_event"):
            raise _Cut
        self._count(reply.usage, calls=1)
        return web.json_response(wire.message(reply))

    async def _streamed(
        self, request: web.Request, wire: Any, call: Call, reply: WireReply, options: dict[str, Any]
    ) -> web.StreamResponse:
        stream = Stream(request, self.settings.headers)
        await stream.open()
        told = wire.name == "anthropic"  # the only protocol that reports input tokens before the text
        started = {**reply.usage, "output": 1} if told and reply.usage is not None else None
        self._count(started, calls=1)
        await wire.stream(stream, reply, self._pieces(reply.text, call.fault, options, stream))
        if call.fault == "error_event":
            return await stream.close()
        if started is not None and reply.usage is not None:
            self._count({"output": reply.usage["output"] - 1}, calls=0)
        else:
            self._count(reply.usage, calls=1)
        return await stream.close()

    def _count(self, told: dict[str, int] | None, *, calls: int) -> None:
        if told is None:
            return
        self.ledger["calls"] += calls
        for name, value in told.items():
            self.ledger[name] += value

    async def _pieces(self, text: str, kind: str, options: dict[str, Any], stream: Stream) -> AsyncIterator[str]:
        after, sent = options.get("after", 80), 0
        size = {"drip": 1, "huge": 1 << 16}.get(kind, self.settings.chunk)
        if kind in ("stall", "cut", "error_event", "broken_event"):
            size = min(size, after)
        while sent < len(text):
            if sent >= after and kind in ("stall", "cut", "error_event", "broken_event"):
                await self._break(kind, stream, options)
            yield text[sent : sent + size]
            sent += size
            pause = options.get("interval", 0.2) if kind == "drip" else self.settings.chunk_delay
            if pause:
                await asyncio.sleep(pause)

    async def _break(self, kind: str, stream: Stream, options: dict[str, Any]) -> None:
        match kind:
            case "stall":
                await options["until"].wait()
                raise _Cut
            case "cut":
                raise _Cut
            case "error_event":
                raise ErrorEvent(options.get("code", ""), options.get("message", "scripted"))
            case "broken_event":
                await stream.send('{"type": "content_block_delta", "delta":', "content_block_delta")

    async def _reply(self, call: Call, kind: str, options: dict[str, Any]) -> WireReply:
        text = await asyncio.to_thread(text_for, call, factor_of(self.settings.length_factor, call))
        text, stop = shaped(whole_prompt(call.body) if kind == "echo" else text, call.protocol, kind, options)
        if self.settings.window and self.settings.window_as in OVER_THE_WINDOW:
            room = min(self.settings.window - tokens(whole_prompt(call.body)), _reply_room(call.body))
            text, stop = (text[: room * 4], "length") if tokens(text) > room else (text, stop)
        reasoning = self.settings.reasoning
        if self.settings.think_tags and reasoning:
            text, reasoning = f"<think>\n{reasoning}\n</think>\n\n{text}", ""
        call.reply = text
        told = self.settings.usage and kind != "no_usage"
        usage = self._usage(call, text) if told else None
        said = self.settings
        model = call.body.get("model", "")
        return WireReply(text, stop, model, usage, reasoning, said.reasoning_tokens, said.commentary, said.deltas)

    def _usage(self, call: Call, text: str) -> dict[str, int]:
        model = str(call.body.get("model"))
        blocks = anthropic_blocks(call.body) if call.protocol == "anthropic" else [(whole_prompt(call.body), False)]
        written, read = 0, 0
        if call.protocol == "anthropic":
            written, read = self._cache.anthropic(model, blocks)
        else:
            read = self._cache.openai(model, blocks[0][0])
        asked = sum(tokens(block) for block, _ in blocks)
        if self.settings.window and self.settings.window_as == "ollama":
            return {
                "input": min(asked, self.settings.window),
                "output": tokens(text),
                "cache_write": 0,
                "cache_read": 0,
            }
        return {"input": asked - written - read, "output": tokens(text), "cache_write": written, "cache_read": read}

    # Control

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"object": "list", "data": [{"id": name, "object": "model"} for name in self.settings.models]}
        )

    async def _control(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        match request.method, request.match_info["what"]:
            case "POST", "script":
                self.script(*(fault(step.pop("fault"), **step) for step in body))
            case "DELETE", "script":
                self.forget_script()
            case "POST", "settings":
                self.configure(**body)
            case "POST", "release":
                self.release()
            case "POST", "reset":
                self.reset()
            case "GET", "requests":
                since = int(request.query.get("since", "0"))
                return web.json_response([dataclasses.asdict(call) for call in self.requests[since:]])
            case "GET", "ledger":
                flight = {"in_flight": self.in_flight, "most_in_flight": self.most_in_flight}
                return web.json_response({**self.ledger, **flight})
            case _:
                return web.json_response({"error": "no such control"}, status=404)
        return web.json_response({"ok": True})


def _reply_room(body: dict[str, Any]) -> int:
    fields = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    return next((int(body[field]) for field in fields if body.get(field)), 1 << 20)


def _recorded(number: int, protocol: str, request: web.Request, body: dict[str, Any]) -> Call:
    brief = json.loads(request.headers.get(HEADER, "{}"))
    headers = {name.lower(): value for name, value in request.headers.items()}
    port = request.transport.get_extra_info("peername")[1] if request.transport else 0
    return Call(number, protocol, request.path, headers, body, brief.get("stage", ""), brief, port=port)


async def _serve(host: str, port: int) -> None:
    async with ModelServer(host, port) as server:
        print(server.url, flush=True)
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stopped.set)
        await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scriptable model provider.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.host, arguments.port))


if __name__ == "__main__":
    sys.exit(main())
