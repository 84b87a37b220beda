"""An account runs two render jobs at a time, and its other jobs wait in its own queue."""

from __future__ import annotations

import asyncio

import pytest

from bookgen.errors import RenderTimeout, Unavailable
from bookgen.render.account_limits import REMEMBERED_SECONDS, AccountTurns

GREEDY, CALM = 1, 2


class HeldJobs:
    """Jobs that last until released. `begun` lists them in the order they started."""

    def __init__(self, turns: AccountTurns) -> None:
        self._turns = turns
        self.begun: list[tuple[int, int]] = []
        self.ends: dict[tuple[int, int], asyncio.Event] = {}

    def start(self, account_id: int, number: int) -> asyncio.Task[None]:
        self.ends[account_id, number] = asyncio.Event()
        return asyncio.create_task(self._do(account_id, number))

    async def _do(self, account_id: int, number: int) -> None:
        async with self._turns.turn(account_id):
            self.begun.append((account_id, number))
            await self.ends[account_id, number].wait()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def work() -> HeldJobs:
    return HeldJobs(AccountTurns(at_once=2, waiting=3))


async def test_an_account_runs_two_jobs_at_once_and_delays_no_other_account(work: HeldJobs) -> None:
    greedy = [work.start(GREEDY, number) for number in range(4)]
    calm = work.start(CALM, 0)
    await settled()
    assert work.begun == [(GREEDY, 0), (GREEDY, 1), (CALM, 0)]

    for end in work.ends.values():
        end.set()
    await asyncio.gather(*greedy, calm)

    assert work.begun[3:] == [(GREEDY, 2), (GREEDY, 3)]


async def test_jobs_beyond_the_queue_are_refused_until_others_leave_it(work: HeldJobs) -> None:
    waiting = [work.start(GREEDY, number) for number in range(5)]
    await settled()

    with pytest.raises(Unavailable):
        await work.start(GREEDY, 5)
    assert not work.start(CALM, 0).done()
    waiting[4].cancel()
    await settled()
    again = work.start(GREEDY, 6)
    await settled()

    assert not again.done()


async def test_a_finished_account_leaves_no_state_behind(work: HeldJobs) -> None:
    done = [work.start(GREEDY, number) for number in range(3)]
    await settled()
    done[2].cancel()
    for end in work.ends.values():
        end.set()
    await asyncio.gather(*done, return_exceptions=True)

    assert work._turns._lines == {}


class HandSetClock:
    """A clock that advances when it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_accounts_whose_jobs_timed_out_share_one_turn_for_a_while() -> None:
    clock = HandSetClock()
    turns = AccountTurns(at_once=2, waiting=3, clock=clock)
    for account_id in (1, 2, 3):
        with pytest.raises(RenderTimeout):
            async with turns.turn(account_id):
                raise RenderTimeout
    work = HeldJobs(turns)

    tasks = [work.start(account_id, number) for account_id in (1, 2, 3, 4) for number in range(2)]
    await settled()
    assert work.begun == [(1, 0), (4, 0), (4, 1)]
    for end in work.ends.values():
        end.set()
    await asyncio.gather(*tasks)

    clock.now = REMEMBERED_SECONDS
    later = HeldJobs(turns)
    tasks = [later.start(account_id, 0) for account_id in (1, 2, 3)]
    await settled()
    assert len(later.begun) == 3
    for end in later.ends.values():
        end.set()
    await asyncio.gather(*tasks)
