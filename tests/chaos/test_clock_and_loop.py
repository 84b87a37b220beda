"""A blocked event loop and a jumping wall clock."""

from __future__ import annotations

import ast
import asyncio
import itertools
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.chaos.process import ROOT
from tests.chaos.world import World

HOUR = 3600


async def test_a_blocked_loop_is_reported_and_keeps_its_lease(world: World) -> None:
    process = await world.serve("step.after:block=5@2")
    author = await world.author()
    book = await world.book(author)
    await world.generate(process, author, book)

    await world.until_status(book, "completed")

    assert "fault_points.py" in next(line for line in process.log.splitlines() if "event_loop_blocked" in line)
    assert "lease_lost" not in process.log
    assert await world.value("SELECT epoch FROM run") == 1
    late = re.findall(r'bookgen_event_loop_lag_seconds_bucket\{le="(\S+)"\} (\S+)', await world.metrics(process))
    assert float(dict(late)["1.0"]) < float(dict(late)["+Inf"])
    assert world.repeated_calls() == 0
    await world.check()


def test_leases_and_waits_do_not_use_the_wall_clock() -> None:
    readers = {
        f"{file.name}: {ast.unparse(node)}"
        for file in (ROOT / "bookgen/actors").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in WALL_CLOCKS
    }

    assert readers == {"transaction.py: datetime.now"}  # passed to a run, whose date then comes from the database


WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today", "datetime.today"}


@pytest.mark.long
@pytest.mark.timeout(200)
async def test_a_wall_clock_that_jumps_by_hours_does_not_affect_leases(world: World, tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text(str(-HOUR))
    settings = {"PYTHONPATH": f"{ROOT / 'tests/chaos/jumping_clock'}:{ROOT}", "JUMPING_CLOCK": str(offset)}
    serve = (sys.executable, "-m", "bookgen", "serve")  # executed and not forked, because a fork already has its clock
    owner, other = await asyncio.gather(*(world.serve(command=serve, **settings) for _ in range(2)))
    authors = [await world.author() for _ in range(4)]
    await world.pool.execute(
        "UPDATE subscription SET anchor = anchor - interval '1 day'"
    )  # so that no period ends during the test
    books = [await world.book(author, chapters=4) for author in authors]
    assert await world.clock_of(owner) < datetime.now(UTC) - timedelta(minutes=59)
    world.model.configure(delay=2.0)
    for process, author, book in zip(
        (owner, other) * 2, authors, books, strict=True
    ):  # so that no process has more than its share
        assert (await world.generate(process, author, book))[0] == 202

    for hours in itertools.cycle((1, -1, 0)):
        offset.write_text(str(hours * HOUR))
        if await world.value("SELECT bool_and(status = 'completed') FROM run"):
            break
        await asyncio.sleep(1.0)

    assert {row["epoch"] for row in await world.pool.fetch("SELECT epoch FROM run")} == {1}
    assert "lease_lost" not in owner.log + other.log
    assert await world.value("SELECT count(*) FROM process WHERE lease_until > now()") == 2
    assert world.repeated_calls() == 0
    await world.check()
