"""A process that sends requests as fast as they are answered, and reports the latencies.

    python -m bench.service.load        reads one job per line, prints one result per line

A job is {"port", "requests": a file, "connections", "seconds", "count"}. It ends after the seconds or after `count`
responses, whichever is given. The file has a JSON list of [method, path, token, body or null, etag or null].
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import orjson
import uvloop

GOOD = (b"200", b"304")


class LoadConnection(asyncio.Protocol):
    """A connection that sends the next request as soon as the last one is answered."""

    def __init__(self, job: LoadJob) -> None:
        self._job = job
        self._head = b""
        self._missing = 0
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            self._head += data
            head, found, body = self._head.partition(b"\r\n\r\n")
            if not found:
                return
            self._head = b""
            status = head[9:12]
            self._job.bad += status not in GOOD
            self._missing = (0 if status == b"304" else _length(head)) - len(body)
        if self._missing <= 0:
            self._missing = 0
            self._job.times.append(time.perf_counter() - self._sent)
            self._send()

    def connection_lost(self, _error: Exception | None) -> None:
        self._job.ended()

    def _send(self) -> None:
        request = self._job.next()
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)


class LoadJob:
    """A job: the requests to send, and the latencies of their responses."""

    def __init__(self, requests: Iterator[bytes], seconds: float | None, count: int | None) -> None:
        self.times: list[float] = []
        self.bad = 0
        self._requests = requests if count is None else itertools.islice(requests, count)
        self._end = time.perf_counter() + (seconds or 3600)
        self._open = 0
        self._over = asyncio.Event()

    def next(self) -> bytes | None:
        return None if time.perf_counter() >= self._end else next(self._requests, None)

    async def run(self, port: int, connections: int) -> None:
        loop = asyncio.get_running_loop()
        self._open = connections
        for _ in range(connections):
            await loop.create_connection(lambda: LoadConnection(self), "127.0.0.1", port)
        await self._over.wait()

    def ended(self) -> None:
        self._open -= 1
        if not self._open:
            self._over.set()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def encoded(method: str, path: str, token: str | None, body: str | None, tag: str | None) -> bytes:
    payload = (body or "").encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"If-None-Match: {tag}"] if tag else []
    lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"] if body else []
    return "\r\n".join([*lines, "", ""]).encode() + payload


async def main() -> None:
    endless: dict[str, Iterator[bytes]] = {}  # each job on a file continues where the last one stopped
    for line in iter(sys.stdin.buffer.readline, b""):
        asked = orjson.loads(line)
        if (name := asked["requests"]) not in endless:
            requests = [encoded(*each) for each in orjson.loads(Path(name).read_bytes())]
            endless[name] = itertools.cycle(requests)
        job = LoadJob(endless[name], asked.get("seconds"), asked.get("count"))
        began = time.perf_counter()
        await job.run(asked["port"], asked["connections"])
        took = time.perf_counter() - began
        times = sorted(job.times) or [0.0]
        result = {
            "answers": len(job.times),
            "bad": job.bad,
            "seconds": took,
            "p50": times[len(times) // 2],
            "p99": times[int(len(times) * 0.99)],
        }
        sys.stdout.buffer.write(orjson.dumps(result) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    uvloop.run(main())
