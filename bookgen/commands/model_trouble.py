"""Shows model failures in the terminal. They are read from the log of the server that the command has started."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

LOOKED_EVERY = 0.5  # seconds


def explained(model: str, message: str, *, address: str = "", detail: str = "", to_do: str = "") -> str:
    """The error message for a failed call: model, address, what failed, the provider's message, and what to do."""
    at = f" at {address}" if address else ""
    said = f": {detail.rstrip('.')}" if detail else ""
    return f"{model}{at}: The model provider {message}{said}. {to_do}".rstrip()


@contextlib.asynccontextmanager
async def failures_reported(log: Path | None, say: Callable[[str], None]) -> AsyncIterator[None]:
    """A context that follows the server's `log` and calls `say` with a message for each model failure.

    A repeated message is passed on only once. If `log` is None, the context does nothing.
    """
    if log is None:
        yield
        return
    news = _News(log)

    async def follow() -> None:
        while True:
            await asyncio.sleep(LOOKED_EVERY)
            for sentence in news.read():
                say(sentence)

    following = asyncio.create_task(follow())
    try:
        yield
    finally:
        following.cancel()
        for sentence in news.read():
            say(sentence)


class _News:
    def __init__(self, log: Path) -> None:
        self._log, self._at, self._seen = log, 0, {""}

    def read(self) -> Iterator[str]:
        with contextlib.suppress(OSError), self._log.open("rb") as lines:
            lines.seek(self._at)
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self._at += len(line)
                if (sentence := _sentence(line)) not in self._seen:
                    self._seen.add(sentence)
                    yield sentence


def _sentence(line: bytes) -> str:
    """The message for a log line about a failed model call or a cut prompt; empty for all other lines."""
    try:
        event: Mapping[str, Any] = json.loads(line)
    except ValueError:
        return ""
    match event:
        case {"event": "model_call_failed", "model": model, "message": message}:
            more = {name: event.get(name) or "" for name in ("address", "detail", "to_do")}
            return explained(model, message, **more)
        case {"event": "prompt_was_cut", "model": model, "to_do": to_do}:
            return f"{model} read only part of its prompt. {to_do}"
    return ""
