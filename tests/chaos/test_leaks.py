"""Finished work leaves nothing behind: no task, no connection, no file."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.process import Process
from tests.chaos.world import Author, World
from tests.fakes.model_script import fault

ESTABLISHED = "01"
AUTHORS, STORMS = 6, 4


@dataclass(frozen=True)
class Left:
    """The resources that a process holds."""

    tasks: int
    connections: int
    files: int

    @classmethod
    async def by(cls, world: World, process: Process) -> Left:
        await world.hang_up()
        told = re.search(r"^bookgen_event_loop_tasks (\S+)", await world.metrics(process), re.MULTILINE)
        assert told
        handles = [str(path.readlink()) for path in Path(f"/proc/{process.pid}/fd").iterdir() if path.is_symlink()]
        rows = [line.split() for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
        tcp = {f"socket:[{row[9]}]" for row in rows if row[3] == ESTABLISHED}
        files = [handle for handle in handles if not handle.startswith("socket:")]
        return cls(int(float(told[1])), len(tcp.intersection(handles)), len(files))

    def within(self, other: Left) -> bool:
        """The provider's client keeps a connection per book ever written at the same time; each storm breaks more calls
        than that.
        """
        most = other.connections + AUTHORS
        return self.tasks <= other.tasks and self.connections <= most and self.files <= other.files


async def storm(world: World, process: Process, authors: list[Author]) -> None:
    """Books that complete, fail, are stopped, or lose their provider during a call, until all have ended."""
    books = {await world.book(author): author for author in authors}
    stopped, paused, *_ = books
    # Not enough failures in a row to open the breaker, which would cost half a minute; other tests cover that.
    world.model.script(
        fault("cut"), fault("drop"), fault("refusal"), fault("status", times=2), fault("truncate"), fault("stall")
    )
    for book, author in books.items():
        assert (await world.generate(process, author, book))[0] == 202
    await world.model.arrived(len(world.model.requests) + 1)
    await world.steer(process, books[paused], paused, "pause")
    await world.steer(process, books[stopped], stopped, "stop")
    await world.steer(process, books[paused], paused, "resume")
    world.model.release()
    await world.until("SELECT NOT EXISTS (SELECT FROM run WHERE status IN ('queued', 'running', 'paused'))")


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_finished_work_leaves_no_task_no_connection_and_no_file(world: World) -> None:
    process = await world.serve(BOOKGEN_MODEL_TIMEOUT="10")  # otherwise a local server is given minutes
    authors = [await world.author() for _ in range(AUTHORS)]
    await storm(world, process, authors)
    await storm(world, process, authors)
    first = await Left.by(world, process)

    for _ in range(STORMS):
        await storm(world, process, authors)

    async with asyncio.timeout(60):
        while not (await Left.by(world, process)).within(first):  # noqa: ASYNC110 (kept connections end by themselves)
            await asyncio.sleep(1)
    assert world.model.in_flight == 0
