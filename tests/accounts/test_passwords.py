"""Passwords: argon2id off the event loop, with a bounded queue."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from argon2 import PasswordHasher

from bookgen.accounts.passwords import Passwords
from bookgen.errors import InvalidInput, RateLimited
from bookgen.processes import STEPS_BACK


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    passwords = Passwords(time_cost=1, memory_kib=8)
    yield passwords
    passwords.close()


async def test_hashes_use_argon2id_with_at_least_the_owasp_parameters() -> None:
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


async def test_two_unicode_spellings_of_one_character_are_one_password(passwords: Passwords) -> None:
    assert await passwords.verify("cafe\u0301 au lait", await passwords.hash("caf\u00e9 au lait"))


async def test_a_hash_with_other_parameters_is_outdated(passwords: Passwords) -> None:
    other = Passwords(time_cost=2, memory_kib=16)

    assert other.outdated(await passwords.hash("hush"))
    assert not other.outdated(await other.hash("hush"))
    other.close()


async def test_requests_beyond_the_queue_are_rate_limited() -> None:
    passwords = Passwords(time_cost=1, memory_kib=8, max_waiting=3)

    outcomes = await asyncio.gather(*(passwords.hash("hush") for _ in range(10)), return_exceptions=True)

    refused = [outcome for outcome in outcomes if isinstance(outcome, RateLimited)]
    assert len(refused) == 7
    assert refused[0].retry_after > 0
    assert await passwords.hash("hush")
    passwords.close()


async def test_strangers_cannot_fill_the_queue_of_known_callers() -> None:
    passwords = Passwords(time_cost=1, memory_kib=8, max_waiting=3)
    stored = await passwords.hash("hush")
    ended: list[str] = []

    async def guess(caller: str) -> None:
        await passwords.verify("hush", stored, known=caller == "owner")
        ended.append(caller)

    outcomes = await asyncio.gather(*map(guess, ["stranger"] * 10 + ["owner"]), return_exceptions=True)

    assert [isinstance(outcome, RateLimited) for outcome in outcomes] == [False] * 3 + [True] * 7 + [False]
    assert "owner" in ended
    passwords.close()


@pytest.mark.parametrize(
    "call",
    [
        lambda passwords: passwords.hash("hush"),
        lambda passwords: passwords.verify("hush", None),
        lambda passwords: passwords.require_strong("password", "hush"),
    ],
)
async def test_a_caller_counts_as_a_stranger_unless_it_is_known(call: Callable[[Passwords], Awaitable[object]]) -> None:
    passwords = Passwords(time_cost=1, memory_kib=8, max_waiting=0)

    with pytest.raises(RateLimited):
        await call(passwords)
    passwords.close()


async def test_closing_drops_waiting_passwords_and_does_not_wait_for_the_running_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(*_: object) -> str:
        started.set()
        release.wait()
        return ""

    monkeypatch.setattr(PasswordHasher, "hash", slow)
    passwords = Passwords(time_cost=1, memory_kib=8)  # hashes one by itself
    waiting = asyncio.ensure_future(passwords.hash("hush"))
    await asyncio.to_thread(started.wait)

    try:
        await asyncio.wait_for(asyncio.to_thread(passwords.close), 5)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, 5)
    finally:
        release.set()


@pytest.mark.parametrize("known", [False, True])
async def test_closed_passwords_hash_nothing_more(known: bool) -> None:
    passwords = Passwords(time_cost=1, memory_kib=8, max_waiting=3)

    passwords.close()

    with pytest.raises(RuntimeError):
        await passwords.hash("hush", known=known)


async def test_hashing_does_not_block_the_event_loop() -> None:
    passwords = Passwords(time_cost=4, memory_kib=65_536)
    hashing = asyncio.ensure_future(passwords.hash("hush"))

    turns = 0
    while not hashing.done():
        turns += 1
        await asyncio.sleep(0)

    assert turns > 50
    passwords.close()


async def test_hashing_threads_have_a_lower_priority_than_the_event_loop(passwords: Passwords) -> None:
    await passwords.hash("hush")

    hashing = [thread.native_id for thread in threading.enumerate() if thread.name.startswith("password")]
    assert hashing
    assert {os.getpriority(os.PRIO_PROCESS, each or 0) for each in hashing} == {
        min(os.getpriority(os.PRIO_PROCESS, 0) + STEPS_BACK, 19)
    }


@pytest.mark.parametrize(
    "weak", ["aaaaaaaa", "Passw0rd!", "        ", "abcabcabc", "qwertzuiop", "letmein!!", "a" * 128, "ada.lovelace1"]
)
async def test_a_password_that_is_easy_to_guess_is_refused(passwords: Passwords, weak: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await passwords.require_strong("password", weak, "ada", "ada.lovelace@example.com")

    assert set(refusal.value.details) == {"password"}


@pytest.mark.parametrize("strong", ["correct horse", "Bücherwurm7", "violet harbour engine", "x8#kPq2!vB"])
async def test_a_password_that_is_hard_to_guess_is_accepted(passwords: Passwords, strong: str) -> None:
    await passwords.require_strong("password", strong, "ada", "ada@example.com")


@pytest.mark.parametrize("own", ["ada-lovelace", "ADA-LOVELACE", "countess@example.com", "countess"])
async def test_the_password_may_not_be_the_username_or_the_address(passwords: Passwords, own: str) -> None:
    with pytest.raises(InvalidInput):
        await passwords.require_strong("password", own, "ada-lovelace", "countess@example.com")


async def test_the_longest_password_is_checked_in_half_a_second(passwords: Passwords) -> None:
    """The estimate takes seconds for 128 characters that match many patterns."""
    judged = "@4(430!1Pa$$w0rd" * 8
    began = time.process_time()

    with contextlib.suppress(InvalidInput):
        await passwords.require_strong("password", judged, "ada", "ada@example.com")

    assert time.process_time() - began < 0.5
