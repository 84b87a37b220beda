"""Passwords: argon2id, off the loop, and only so many at once."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from bookgen.accounts.passwords import Passwords
from bookgen.errors import RateLimited
from bookgen.processes import STEPS_BACK


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    passwords = Passwords(time_cost=1, memory_kib=8)
    yield passwords
    passwords.close()


async def test_the_hash_is_argon2id_at_owasps_minimum() -> None:
    passwords = Passwords()

    assert (await passwords.hash("hush")).startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    passwords.close()


async def test_only_the_right_password_verifies(passwords: Passwords) -> None:
    stored = await passwords.hash("correct horse")

    assert await passwords.verify("correct horse", stored)
    assert not await passwords.verify("correct horsf", stored)
    assert not await passwords.verify("correct horse", None)
    assert not await passwords.verify("nobody has this password", None)
    assert not await passwords.verify("correct horse", "plain text left by somebody")


async def test_two_spellings_of_one_character_are_one_password(passwords: Passwords) -> None:
    assert await passwords.verify("cafe\u0301 au lait", await passwords.hash("caf\u00e9 au lait"))


async def test_a_hash_of_other_parameters_is_outdated(passwords: Passwords) -> None:
    other = Passwords(time_cost=2, memory_kib=16)

    assert other.outdated(await passwords.hash("hush"))
    assert not other.outdated(await other.hash("hush"))
    other.close()


async def test_more_than_the_queue_holds_is_told_to_come_back() -> None:
    passwords = Passwords(time_cost=1, memory_kib=8, max_waiting=3)

    outcomes = await asyncio.gather(*(passwords.hash("hush") for _ in range(10)), return_exceptions=True)

    refused = [outcome for outcome in outcomes if isinstance(outcome, RateLimited)]
    assert len(refused) == 7
    assert refused[0].retry_after > 0
    assert await passwords.hash("hush")
    passwords.close()


async def test_the_loop_goes_on_while_a_password_is_hashed() -> None:
    passwords = Passwords(time_cost=4, memory_kib=65_536)
    hashing = asyncio.ensure_future(passwords.hash("hush"))

    turns = 0
    while not hashing.done():
        turns += 1
        await asyncio.sleep(0)

    assert turns > 50
    passwords.close()


async def test_hashing_gives_way_to_the_event_loop(passwords: Passwords) -> None:
    await passwords.hash("hush")

    hashing = [thread.native_id for thread in threading.enumerate() if thread.name.startswith("password")]
    assert hashing
    assert {os.getpriority(os.PRIO_PROCESS, each or 0) for each in hashing} == {
        min(os.getpriority(os.PRIO_PROCESS, 0) + STEPS_BACK, 19)
    }
