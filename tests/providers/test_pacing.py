"""Concurrent calls and calls per minute, shared fairly by accounts."""

from __future__ import annotations

import asyncio

from bookgen.providers.pacing import FairQueue, Pacing


async def test_accounts_are_served_in_turn() -> None:
    queue, served = FairQueue(), []

    async def call(account: int) -> None:
        async with queue.place(account):
            served.append(account)
            await asyncio.sleep(0)

    await asyncio.gather(*(call(account) for account in (1, 1, 1, 1, 2, 2, 3)))

    assert served == [1, 1, 2, 3, 1, 2, 1]


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    pacing, running, most = Pacing(concurrency=3), 0, 0

    async def call(account: int) -> None:
        nonlocal running, most
        async with pacing.slot(account):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

    await asyncio.gather(*(call(number % 4) for number in range(40)))

    assert most == 3


async def test_a_caller_that_gives_up_leaves_its_place_to_the_next() -> None:
    queue = FairQueue()
    async with queue.place(1):
        waiting = [asyncio.create_task(_hold(queue, account)) for account in (1, 2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)

    async with asyncio.timeout(1):
        assert await waiting[1]
        async with queue.place(3):
            pass


async def test_a_turn_given_to_a_cancelled_caller_is_passed_on() -> None:
    queue = FairQueue()
    async with queue.place(1):
        leaving = asyncio.create_task(_hold(queue, 2))
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)

    async with asyncio.timeout(1), queue.place(3):
        pass


async def test_a_burst_of_one_account_leaves_room_for_others_within_the_minute() -> None:
    pacing, done = Pacing(concurrency=99, requests_per_minute=600), []

    async def call(account: int) -> None:
        async with pacing.slot(account):
            done.append(account)

    greedy = [asyncio.create_task(call(1)) for _ in range(50)]
    await asyncio.sleep(0)
    await call(2)

    assert done.count(1) < 10
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)


async def _hold(queue: FairQueue, account: int) -> bool:
    async with queue.place(account):
        return True


async def test_a_process_keeps_to_its_share_of_the_concurrent_calls() -> None:
    pacing, running, most = Pacing(concurrency=7), 0, list[int]()

    async def call(account: int) -> None:
        nonlocal running
        async with pacing.slot(account):
            running += 1
            most.append(running)
            await asyncio.sleep(0)
            running -= 1

    for processes in (3, 100, 1):
        pacing.share(processes)
        most.clear()
        await asyncio.gather(*(call(number) for number in range(20)))
        assert max(most) == max(7 // processes, 1)


async def test_a_process_keeps_to_its_share_of_the_calls_per_minute() -> None:
    pacing = Pacing(concurrency=8, requests_per_minute=60_000)
    pacing.share(20)  # one in 20 ms

    began = asyncio.get_running_loop().time()
    for _ in range(4):
        async with pacing.slot(1):
            pass

    assert asyncio.get_running_loop().time() - began >= 0.055
