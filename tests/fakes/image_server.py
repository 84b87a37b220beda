"""A fake image provider with OpenAI's Images API, whose responses the test chooses.

    async with ImageServer() as server:
        server.url                                     # the base URL for the SDK
        server.script(refused(), status(500), sent(b"<svg/>"))
        server.requests                                # the bodies so far
    server.edits = False                           # reference pictures are not supported

Without a script, each call gets a new picture of the requested size. The body of an edit is its form, with the files
under `image[]`.
"""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import BodyPartReader, web
from PIL import Image, ImageDraw

Answer = Callable[[dict[str, Any]], Awaitable[web.StreamResponse]]
USAGE = {"input_tokens": 50, "output_tokens": 1000, "total_tokens": 1050, "input_tokens_details": {"cached_tokens": 0}}


def painted(width: int, height: int, *, format: str = "PNG") -> bytes:
    image = Image.new("RGB", (width, height), "#7799bb")
    ImageDraw.Draw(image).ellipse((width * 0.2, height * 0.4, width * 0.8, height * 0.9), fill="#224433")
    out = io.BytesIO()
    image.save(out, format)
    return out.getvalue()


def sent(data: bytes) -> Answer:
    """Any bytes, sent as a picture."""

    async def answer(_body: dict[str, Any]) -> web.StreamResponse:
        coded = base64.b64encode(data).decode()
        return web.json_response({"created": 1, "data": [{"b64_json": coded}], "usage": USAGE})

    return answer


def json(body: Any) -> Answer:
    async def answer(_body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(body)

    return answer


def status(code: int, message: str = "scripted", error_code: str | None = None) -> Answer:
    async def answer(_body: dict[str, Any]) -> web.StreamResponse:
        error = {"message": message, "type": "image_generation_user_error", "param": None, "code": error_code}
        return web.json_response({"error": error}, status=code)

    return answer


def refused() -> Answer:
    return status(400, "Your request was rejected by the safety system.", "moderation_blocked")


def unknown(field: str) -> Answer:
    return status(400, f"Unknown parameter: '{field}'.", "unknown_parameter")


async def well(body: dict[str, Any]) -> web.StreamResponse:
    width, height = map(int, body["size"].split("x"))
    return await sent(await asyncio.to_thread(painted, width, height))(body)


def held_until(gate: asyncio.Event) -> Answer:
    """A picture that is sent once the gate is open."""

    async def answer(body: dict[str, Any]) -> web.StreamResponse:
        await gate.wait()
        return await well(body)

    return answer


class ImageServer:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.edits = True
        self.asked = asyncio.Event()
        self._script: list[Answer] = []

    def script(self, *answers: Answer) -> None:
        self._script += answers

    def forget_script(self) -> None:
        self._script.clear()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/images/generations", self._generate)
        app.router.add_post("/v1/images/edits", self._edit)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(await request.json())

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        if not self.edits:
            return await status(404, "Not found")({})
        body: dict[str, Any] = {"image[]": []}
        async for part in await request.multipart():  # not `post`, which leaves a file open if the client disconnects
            assert isinstance(part, BodyPartReader)
            if part.name == "image[]":
                body["image[]"].append(bytes(await part.read(decode=True)))
            else:
                body[str(part.name)] = await part.text()
        return await self._answer(body)

    async def _answer(self, body: dict[str, Any]) -> web.StreamResponse:
        self.requests.append(body)
        self.asked.set()
        return await (self._script.pop(0) if self._script else well)(body)
