"""Computations in threads do not block the event loop."""

from __future__ import annotations

import asyncio
import threading

from bookgen import threads


async def test_computations_run_one_at_a_time_and_off_the_event_loop() -> None:
    inside, most, called_by = 0, 0, set[int]()

    def work(number: int) -> int:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        called_by.add(threading.get_ident())
        sum(range(20_000))
        inside -= 1
        return number

    answers = await asyncio.gather(*(threads.compute(work, number) for number in range(50)))

    assert answers == list(range(50))
    assert most == 1
    assert threading.get_ident() not in called_by


async def test_a_cancelled_computation_is_not_started() -> None:
    go, done = threading.Event(), list[str]()
    first = asyncio.create_task(threads.compute(go.wait))
    second = asyncio.create_task(threads.compute(done.append, "second"))
    await asyncio.sleep(0)

    second.cancel()
    await asyncio.wait((second,))
    go.set()
    await first
    await threads.compute(done.append, "third")

    assert done == ["third"]
