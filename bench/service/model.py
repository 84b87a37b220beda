"""A model server with almost no cost: OpenAI's Chat protocol, and prose of the requested length.

    python -m bench.service.model [--ms 50] [--piece 5] [--spread] [--silent TEXT]        prints one line, its port

`ms` is the duration of a call. `piece` is the number of characters per event of the stream (0: two events per reply).
With `spread`, the events are distributed over the duration; otherwise all come at its end. A call that contains the
text `silent` is never answered.

    POST …/chat/completions             a reply as a stream of events
    GET  /text/BOOK/CHAPTER/PART/WORDS  the text alone, after the same time, for the peers
    GET  /ms/MS                         sets the duration of calls that begin from now on
    GET  /stats                         calls, calls in flight, cancelled calls, CPU seconds of this process

No two chapters of a book share a sentence, so the quality gate finds no repetition.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import random
import re
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import cast

import uvloop
from wordfreq import top_n_list

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
CHAPTER = re.compile(rb"Write chapter (\d+) of")
PART = re.compile(rb"part (\d+) of")
WORDS = re.compile(rb"about ([\d,]+) words")
DIGEST = b"thread_closed"
SENTENCE, PARAGRAPH = 15, 5  # words, sentences
SMALL_WORDS = ("the", "and", "of", "a", "to", "in", "was", "that", "with", "his", "her", "for", "it", "on", "had")
RESTS = 0.05  # seconds between two writes of a spread reply
OPEN_FILES = 65_536


@dataclass
class Options:
    """`ms`: duration of a call. `piece`: characters per event (0: two events). `silent`: see the module docstring."""

    ms: float = 0
    piece: int = 0
    spread: bool = False
    silent: str = ""


@dataclass
class Stats:
    calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    cut: int = 0


@functools.cache
def vocabulary() -> list[str]:
    return [word for word in top_n_list("en", 9_000)[200:] if word.isascii() and word.isalpha() and len(word) > 3]


def sentence(draw: random.Random, words: int) -> str:
    """A sentence whose number is encoded in every other word: all differ, and the language can be detected."""
    said = [draw.choice(vocabulary() if place % 2 else SMALL_WORDS) for place in range(words)]
    return " ".join(said).capitalize() + "."


@functools.cache
def prose(chapter: int, part: int, words: int) -> str:
    draw = random.Random(f"{chapter} {part} {words}")
    full, rest = divmod(words, SENTENCE)
    lengths = [SENTENCE] * (full - (rest < 4)) + [rest if rest >= 4 else rest + SENTENCE]
    said = [sentence(draw, each) for each in lengths if each > 0]
    paragraphs = [" ".join(said[at : at + PARAGRAPH]) for at in range(0, len(said), PARAGRAPH)]
    return "\n\n".join(paragraphs)


@functools.cache
def notes(chapter: int) -> str:
    draw = random.Random(f"notes {chapter}")
    facts = [sentence(draw, 12) for _ in range(6)]
    summary = " ".join(sentence(draw, 15) for _ in range(5))
    threads = [sentence(draw, 12)]
    return json.dumps({"summary": summary, "facts": facts, "threads_opened": threads, "threads_closed": []})


def chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    head = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice]}
    return b"data: " + json.dumps(head).encode() + b"\n\n"


@functools.cache
def events(text: str, piece: int) -> bytes:
    size = piece or max(len(text) // 2, 1)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return b"".join(chunk({"role": "assistant", "content": each}) for each in pieces) + chunk({}, "stop")


def usage(prompt: int, output: int) -> bytes:
    told = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    head = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": []}
    return b"data: " + json.dumps({**head, "usage": told}).encode() + b"\n\ndata: [DONE]\n\n"


def reply(body: bytes, options: Options) -> bytes:
    """The events that answer a request, chosen by its last message."""
    last = body[body.rfind(b'"role"') :]
    told = CHAPTER.findall(body)
    chapter = int(told[-1]) if told else 0
    if DIGEST in last:
        text = notes(chapter)
    else:
        part, words = PART.search(last), WORDS.findall(last)
        asked = int(words[-1].replace(b",", b"")) if words else 300
        text = prose(chapter, int(part[1]) if part else 1, asked)
    return events(text, options.piece) + usage(len(body) // 4, len(text) // 4)


class ModelConnection(asyncio.Protocol):
    """A connection of one caller, with one request at a time."""

    def __init__(self, options: Options, stats: Stats) -> None:
        self._options, self._stats = options, stats
        self._received = bytearray()
        self._waits: asyncio.TimerHandle | None = None
        self._busy = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, _error: Exception | None) -> None:
        if self._waits:
            self._waits.cancel()
        if self._busy:
            self._stats.in_flight -= 1
            self._stats.cut += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(b"\r\n\r\n")
        if head < 0:
            return
        length = LENGTH.search(self._received, 0, head)
        end = head + 4 + (int(length[1]) if length else 0)
        if len(self._received) < end:
            return
        line = bytes(self._received[: self._received.find(b"\r\n")]).decode()
        body = bytes(self._received[head + 4 : end])
        del self._received[:end]
        self._answer(*line.split(" ")[:2], body)

    def _answer(self, method: str, path: str, body: bytes) -> None:
        if method == "POST" and self._options.silent and self._options.silent.encode() in body:
            self._call(None)
        elif method == "POST":
            self._call(lambda: self._stream(reply(body, self._options)))
        elif path.startswith("/text/"):
            _book, chapter, part, words = map(int, path.split("/")[2:6])
            self._call(lambda: self._send("text/plain", prose(chapter, part, words).encode()))
        else:
            if path.startswith("/ms/"):
                self._options.ms = float(path.removeprefix("/ms/"))
            told = {**asdict(self._stats), "cpu": time.process_time()}
            self._send("application/json", json.dumps(told).encode())

    def _call(self, answer: Callable[[], None] | None) -> None:
        stats, options = self._stats, self._options
        stats.calls += 1
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        self._busy = True
        if answer is None:
            return
        if options.ms and not options.spread:
            self._waits = asyncio.get_running_loop().call_later(options.ms / 1000, answer)
        else:
            answer()

    def _stream(self, body: bytes) -> None:
        if not (self._options.spread and self._options.ms):
            self._send("text/event-stream", body)
            return
        self._transport.write(_head("text/event-stream", len(body)))
        writes = max(round(self._options.ms / 1000 / RESTS), 1)
        size = -(-len(body) // writes)
        self._drip([body[at : at + size] for at in range(0, len(body), size)])

    def _drip(self, pieces: list[bytes]) -> None:
        self._transport.write(pieces.pop(0))
        if pieces:
            self._waits = asyncio.get_running_loop().call_later(RESTS, self._drip, pieces)
        else:
            self._ended()

    def _send(self, kind: str, body: bytes) -> None:
        if self._busy:
            self._ended()
        self._transport.write(_head(kind, len(body)) + body)

    def _ended(self) -> None:
        self._busy = False
        self._stats.in_flight -= 1


def _head(kind: str, length: int) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ms", type=float, default=0)
    parser.add_argument("--piece", type=int, default=0)
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--silent", default="")
    options, stats = Options(**vars(parser.parse_args())), Stats()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, most), most))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ModelConnection(options, stats), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
