"""Response times do not reveal which addresses exist."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from statistics import median

import pytest

from bookgen.accounts.passwords import Passwords
from bookgen.http import password_attempts
from tests.accounts.door import Door

SAMPLES = 200


async def overlap(first: Callable[[int], Awaitable[object]], second: Callable[[int], Awaitable[object]]) -> float:
    """How often a call of one kind takes longer than one of the other: 0.5 if time reveals nothing."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(SAMPLES + 5):
        # Alternating, so that load on the machine affects both kinds alike.
        for kind, call in enumerate((first, second)):
            began = time.perf_counter()
            await call(number)
            if number >= 5:
                times[kind].append(time.perf_counter() - began)
    longer = sum(a > b for a in times[0] for b in times[1])
    return longer / SAMPLES**2


async def test_login_takes_as_long_for_an_unknown_address(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_attempts, "MAX_ATTEMPTS", 1_000)
    await door.register("ada")

    async def login(email: str) -> None:
        status, _ = await door.post("/auth/login/", {"email": email, "password": "wrong guess"})
        assert status == 401

    told = await overlap(lambda _: login("ada@example.com"), lambda number: login(f"nobody{number}@example.com"))

    assert 0.3 < told < 0.7


async def test_forgotten_password_takes_as_long_for_an_unknown_address(door: Door) -> None:
    await door.register("ada")

    async def forgot(email: str) -> None:
        status, _ = await door.post("/auth/forgot-password/", {"email": email})
        assert status == 200

    told = await overlap(lambda _: forgot("ada@example.com"), lambda number: forgot(f"nobody{number}@example.com"))

    assert 0.3 < told < 0.7


async def test_an_absent_account_costs_a_whole_password_check() -> None:
    passwords = Passwords()
    stored = await passwords.hash("right one")

    async def took(password_hash: str | None) -> float:
        began = time.perf_counter()
        await passwords.verify("wrong guess", password_hash)
        return time.perf_counter() - began

    present, absent = [], []
    for _ in range(9):
        present.append(await took(stored))
        absent.append(await took(None))
    passwords.close()

    assert 0.5 < median(present) / median(absent) < 2
