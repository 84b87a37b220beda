"""The synchronous standby hangs: nothing is answered that it does not have."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

import pytest

from bookgen.store.database import HTTP_SILENCE_SECONDS, SILENCE_SECONDS
from tests.chaos.test_failover import FailoverWorld, setting
from tests.chaos.traffic import CUT_OFF
from tests.chaos.world import Author

# Longer than the service waits for an answer of the database, so that it gives up and tries again.
HANGS_SECONDS = max(SILENCE_SECONDS, HTTP_SILENCE_SECONDS) + 10.0


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_a_command_that_the_standby_does_not_have_is_never_answered(tmp_path: Path) -> None:
    async with setting("several hosts", tmp_path) as fleet:
        world, pair = fleet.world, fleet.pair
        await fleet.serve()
        author = await world.author()
        book = await world.book(author)
        world.model.configure(delay=3600)
        await world.generate(fleet.processes[0], author, book)
        await world.model.arrived(1)
        world.stops[book] += 1

        pair.standby.signal(signal.SIGSTOP)
        seen = await asyncio.gather(pause(fleet, author, book), look(fleet, author, book))
        pair.primary.kill()
        pair.standby.signal(signal.SIGCONT)
        await pair.standby.promote()

        there = await pair.standby.value_of("bookgen", "SELECT status FROM run")
        print(f"answers of the command: {seen[0]}; statuses that were shown: {seen[1]}; after the failover: {there}")
        assert "paused" not in (seen[0] | seen[1]) or there == "paused"


async def pause(fleet: FailoverWorld, author: Author, book: int) -> set[str]:
    """Ask one process again and again to pause the book. Returns the statuses that it confirmed."""
    confirmed = set[str]()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HANGS_SECONDS):
            while True:
                with contextlib.suppress(*CUT_OFF):
                    code, body = await fleet.world.steer(fleet.processes[0], author, book, "pause")
                    confirmed |= {body["generation_status"]} if code == 200 else set()
                await asyncio.sleep(1)
    return confirmed


async def look(fleet: FailoverWorld, author: Author, book: int) -> set[str]:
    """Ask the other process for the status. Returns those that it showed."""
    shown, path = set[str](), f"/books/{book}/generation-status/"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HANGS_SECONDS):
            while True:
                with contextlib.suppress(*CUT_OFF):
                    code, body = await fleet.world.call(fleet.processes[1], author, "GET", path)
                    shown |= {body["generation_status"]} if code == 200 else set()
                await asyncio.sleep(0.5)
    return shown
