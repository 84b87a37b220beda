"""A free account at its limits, in a separate process: exports, copies, stalled readers, outlines, deep Markdown.

    python -m bench.hostile.attack PORT TOKEN SECONDS [WAY ...]

Prints the number of responses by status as JSON. The constant `WAYS` names the attacks; all of them are the default.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp

LARGE = 990_000  # bytes of a chapter
# Each attack, and the number of concurrent tasks for it.
WAYS = {"export": 3, "preview": 3, "copy": 3, "outline": 3, "read": 3, "write": 3, "stall": 24}
DEEP = ("[" * 400_000, "> " * 50_000, "[^1]" * 2_000, "*_" * 100_000, "| a " * 40_000)


class Attack:
    """All attacks at once, each as fast as the limits allow."""

    def __init__(self, http: aiohttp.ClientSession, port: int, token: str) -> None:
        self._http, self._port, self._token = http, port, token
        self._answers: collections.Counter[str] = collections.Counter()
        self._books: list[dict[str, Any]] = []

    async def run(self, seconds: float, chosen: Sequence[str]) -> dict[str, int]:
        for title in ("Deep", "Large"):
            await self._outlined(title, 12)
        for chapter, text in zip(self._books[0]["chapters"], itertools.cycle(DEEP), strict=False):
            await self._send("PATCH", f"/chapters/{chapter['id']}/", {"content": text})
        for chapter in self._books[1]["chapters"]:
            await self._send("PATCH", f"/chapters/{chapter['id']}/", {"content": "Words. " * (LARGE // 7)})
        print("begun", flush=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
                for name in chosen:
                    for _ in range(WAYS[name]):
                        tasks.create_task(self._again_and_again(getattr(self, f"_{name}")))
        return dict(self._answers)

    async def _outlined(self, title: str, chapters: int) -> None:
        form = {"title": title, "chapter_count": chapters, "target_word_count": 4_000}
        book = await self._send("POST", "/books/", form)
        self._books.append(await self._send("POST", f"/books/{book['id']}/generate-outline/"))

    async def _again_and_again(self, way: Callable[[], Awaitable[object]]) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                await way()

    async def _send(self, method: str, path: str, body: object = None) -> Any:
        """Send a call until it is not rate-limited, waiting as long as each 429 says. Returns the response."""
        headers = {"Authorization": f"Bearer {self._token}"}
        url = f"http://127.0.0.1:{self._port}/api/v1{path}"
        async with self._http.request(method, url, json=body, headers=headers) as answer:
            raw = await answer.read()
            self._answers[str(answer.status)] += 1
            if answer.status == 429:
                await asyncio.sleep(min(float(answer.headers.get("Retry-After", 1)), 5))
            return json.loads(raw) if answer.content_type == "application/json" and raw else None

    async def _export(self) -> None:
        for book in self._books:
            await self._send("POST", f"/books/{book['id']}/export_pdf/")

    async def _preview(self) -> None:
        for book in self._books:
            await self._send("GET", f"/books/{book['id']}/preview-data/")

    async def _copy(self) -> None:
        await self._send("POST", f"/books/{self._books[1]['id']}/duplicate/")

    async def _outline(self) -> None:
        draft = await self._send(
            "POST", "/books/", {"title": "Long", "chapter_count": 100, "target_word_count": 20_000}
        )
        if draft and "id" in draft:
            await self._send("POST", f"/books/{draft['id']}/generate-outline/")

    async def _read(self) -> None:
        await self._send("GET", "/chapters/")

    async def _write(self) -> None:
        chapter = self._books[0]["chapters"][0]["id"]
        await self._send("PATCH", f"/chapters/{chapter}/", {"content": "[" * 400_001})

    async def _stall(self) -> None:
        """Request megabytes, and read none of them."""
        request = (
            f"GET /api/v1/chapters/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._token}\r\n\r\n"
        ).encode()
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            reader.setblocking(False)
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_connect(reader, ("127.0.0.1", self._port))
                await asyncio.get_running_loop().sock_sendall(reader, request)
                await asyncio.sleep(15)
        await asyncio.sleep(1)


async def main(port: str, token: str, seconds: str, *ways: str) -> None:
    connector = aiohttp.TCPConnector(limit=64)
    async with aiohttp.ClientSession(connector=connector) as http:
        print(json.dumps(await Attack(http, int(port), token).run(float(seconds), ways or tuple(WAYS))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
