"""An outage of a second, a minute or an hour fails no run, and each book repeats at most one call.

The clock is virtual. Everything else is real: the intervals, the retries, the SDK, the sockets. OUTAGES=all tests every
kind and length of outage with one, five and fifty books; the default is a few of them.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.writing.material import Material
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.virtual_time import run
from tests.writing.authored import Paid, write_book
from tests.writing.scripted import a_book, a_chapter

ALL = os.environ.get("OUTAGES") == "all"
LONGEST = 3_600.0  # seconds
SECONDS_A_PIECE = 0.5  # characters: the calls are in flight when the server fails
KINDS = ("gone", "503", "hangs up", "silent")
SCENARIOS = [("gone", 1.0, 5), ("503", 60.0, 1), ("gone", LONGEST, 1), ("silent", LONGEST, 2)]
if ALL:
    SCENARIOS = [(how, seconds, books) for how in KINDS for seconds in (1.0, 60.0, LONGEST) for books in (1, 5, 50)]
FAULTS = {
    "503": fault("status", status=503, times=10**9),
    "hangs up": fault("drop", times=10**9),
    "silent": fault("hang", times=10**9),
}


async def goes_away(server: ModelServer, how: str, seconds: float) -> None:
    """The outage: nothing listens, or the server answers 503, hangs up, or stays silent."""
    if how == "gone":
        await server.stop()
        await asyncio.sleep(seconds)
        await server.start()
        return
    server.script(FAULTS[how])
    await asyncio.sleep(seconds)
    server.forget_script()
    server.release()


async def written_through(how: str, seconds: float, books: int) -> dict[str, Any]:
    async with ModelServer() as server:
        server.configure(chunk_delay=SECONDS_A_PIECE)
        model = build_text_model("openai:local", ModelSettings({"openai": Access("k", url=server.url)}, concurrency=8))
        runs = [asyncio.create_task(written(model, number)) for number in range(1, books + 1)]
        await server.arrived(min(books, 8))
        await asyncio.sleep(SECONDS_A_PIECE * 2)
        started = asyncio.get_running_loop().time()
        await goes_away(server, how, seconds)
        lengths = await asyncio.gather(*runs)
        took = asyncio.get_running_loop().time() - started
        await model.close()
        return {"lengths": lengths, "took": took, "again": repeated(server)}


async def written(model: Any, number: int) -> int:
    book = a_book(id=number, account_id=number, title=f"Book {number}", chapter_count=1, target_word_count=300)
    drafts, _ = await write_book(Material(book, (replace(a_chapter(1, words=300), book_id=number),)), Paid(model))
    return drafts[0].word_count


def repeated(server: ModelServer) -> int:
    """The largest number of calls of one book that the server began to answer more than once."""
    begun = [call for call in server.requests if call.ended in ("answered", "left", "cut") and not call.fault]
    asked = Counter((call.brief["title"], str(call.body["messages"])) for call in begun)
    again: Counter[str] = Counter()
    for (title, _), times in asked.items():
        again[title] += times - 1
    return max(again.values())


@pytest.mark.parametrize(("how", "seconds", "books"), SCENARIOS)
def test_every_book_is_written_after_an_outage_and_repeats_one_call_at_most(
    how: str, seconds: float, books: int
) -> None:
    ended = run(written_through(how, seconds, books))

    assert all(abs(words - 300) <= 30 for words in ended["lengths"])
    assert len(ended["lengths"]) == books
    assert ended["again"] <= 1
    assert ended["took"] >= seconds
