"""What computes leaves the event loop its turns."""

from __future__ import annotations

import asyncio
import threading

from bookgen import threads


async def test_what_computes_does_so_one_after_the_other_and_not_on_the_loop() -> None:
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


async def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
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
