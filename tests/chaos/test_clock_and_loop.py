"""Time as it should not be: a loop that stands still, a wall clock that jumps."""

from __future__ import annotations

import re

from tests.chaos.world import World


async def test_a_blocked_loop_is_reported_and_loses_no_lease(world: World) -> None:
    process = await world.serve("step.after:block=5@2")
    author = await world.author()
    book = await world.book(author)
    await world.generate(process, author, book)

    await world.until_status(book, "completed")

    assert "faults.py" in next(line for line in process.log.splitlines() if "event_loop_blocked" in line)
    assert "lease_lost" not in process.log
    assert await world.value("SELECT epoch FROM run") == 1
    late = re.findall(r'bookgen_event_loop_lag_seconds_bucket\{le="(\S+)"\} (\S+)', await world.metrics(process))
    assert float(dict(late)["1.0"]) < float(dict(late)["+Inf"])
    assert world.repeated_calls() == 0
    await world.check()
