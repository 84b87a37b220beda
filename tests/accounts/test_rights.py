"""Blocked accounts: every process refuses them as soon as it is notified."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from bookgen.accounts import rights as account_rights
from bookgen.accounts.rights import REMEMBERED_SECONDS, RightsCache
from bookgen.store import accounts
from bookgen.store.accounts import NewAccount
from tests.accounts.door import PASSWORD, Door


async def test_a_blocked_account_is_refused_everywhere(door: Door) -> None:
    body = await door.register("ada")
    tokens = body["tokens"]
    assert (await door.call("GET", "/auth/profile/", token=tokens["access"]))[0] == 200

    await door.block(body["user"]["id"])

    outcomes = [
        await door.call("GET", "/auth/profile/", token=tokens["access"]),
        await door.call("GET", "/books/", token=tokens["access"]),
        await door.post("/auth/token/refresh/", {"refresh": tokens["refresh"]}),
        await door.post("/auth/login/", {"username": "ada", "password": PASSWORD}),
    ]
    assert [(status, answer["error"]["code"]) for status, answer in outcomes] == [(403, "PERMISSION_DENIED")] * 4


async def test_a_wrong_password_does_not_reveal_that_an_account_is_blocked(door: Door) -> None:
    body = await door.register("ada")
    await door.block(body["user"]["id"])

    assert (await door.post("/auth/login/", {"username": "ada", "password": "wrong guess"}))[0] == 401


async def test_cached_rights_expire_after_their_time_to_live(door: Door) -> None:
    account, now = (await door.register("ada"))["user"]["id"], 1000.0
    rights = RightsCache(door.database.http, clock=lambda: now)
    await rights.of(account)

    now += REMEMBERED_SECONDS - 0.001
    assert rights.known(account)
    now += 0.001
    assert rights.known(account) is None


async def test_the_rights_of_the_account_that_was_looked_up_first_are_dropped_first(
    pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_rights, "REMEMBERED_ACCOUNTS", 2)
    new = [NewAccount(name, f"{name}@example.com") for name in ("ada", "bea", "cleo")]
    found = [(await accounts.create(pool, each)).id for each in new]
    rights = RightsCache(pool)

    for account_id in found:
        await rights.of(account_id)

    assert [rights.known(account_id) is not None for account_id in found] == [False, True, True]


A_RUN = """
    WITH written AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        VALUES ($1, 'A book', 1, 1000, '6x9', 'en') RETURNING id)
    INSERT INTO run (id, book_id, account_id, status, mode, total)
    SELECT gen_random_uuid(), id, $1, 'paused', 'full', 1 FROM written
"""


async def test_a_watching_process_is_notified_of_a_block_and_ends_the_runs(door: Door) -> None:
    body = await door.register("ada")
    token = body["tokens"]["access"]
    assert (await door.call("GET", "/auth/profile/", token=token))[0] == 200
    await door.database.http.execute(A_RUN, body["user"]["id"])
    heard: asyncio.Queue[int] = asyncio.Queue()

    await accounts.block(door.database.http, body["user"]["id"], "spam")
    watching = asyncio.create_task(door.rights.watch(heard.put))

    assert await heard.get() == body["user"]["id"]
    assert (await door.call("GET", "/auth/profile/", token=token))[0] == 403
    watching.cancel()


async def test_the_runs_of_an_account_blocked_long_ago_are_found(door: Door) -> None:
    blocked, free = [(await door.register(name))["user"]["id"] for name in ("ada", "bea")]
    for account_id in (blocked, free):
        await door.database.http.execute(A_RUN, account_id)
    await door.block(blocked)
    await door.database.http.execute("UPDATE account SET blocked_at = blocked_at - interval '1 year'")

    assert await accounts.blocked_with_runs(door.database.http) == [blocked]


async def test_cached_rights_are_at_most_five_seconds_old(door: Door) -> None:
    body = await door.register("ada")
    now = 1000.0
    rights = RightsCache(door.database.http, clock=lambda: now)
    account_id = body["user"]["id"]
    before = await rights.of(account_id)
    assert before is not None
    assert not before.blocked
    await accounts.block(door.database.http, account_id, "from elsewhere")

    now += 5.0

    after = await rights.of(account_id)
    assert after is not None
    assert after.blocked


async def test_the_rights_of_active_callers_are_refreshed_before_they_expire(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_rights, "MAX_READS", 1)  # a statement can read more accounts than this
    gone, calling, other = [(await door.register(name))["user"]["id"] for name in ("ada", "bea", "cleo")]
    now = 1000.0
    rights = RightsCache(door.database.http, clock=lambda: now)
    for account_id in (gone, calling, other):
        await rights.of(account_id)

    for _ in range(20):  # one caller calls every fifteen seconds, the other every five
        for _ in range(3):
            now += account_rights.LOOK_EVERY_SECONDS
            await rights.renew()
            assert rights.known(other)
        assert rights.known(calling)

    assert rights.known(gone) is None
    await accounts.block(door.database.http, calling, "from elsewhere")
    now += REMEMBERED_SECONDS - account_rights.LOOK_EVERY_SECONDS
    await rights.renew()
    renewed = rights.known(calling)
    assert renewed is not None
    assert renewed.blocked


@pytest.mark.parametrize("way", ["of", "renew"])
async def test_rights_read_before_a_block_are_not_cached_after_it(door: Door, way: str) -> None:
    account_id, now = (await door.register("ada"))["user"]["id"], 1000.0
    rights = RightsCache(door.database.http, clock=lambda: now)
    if way == "renew":
        await rights.of(account_id)
        now += REMEMBERED_SECONDS - account_rights.LOOK_EVERY_SECONDS
    async with door.database.http.acquire() as connection, connection.transaction():
        await connection.execute("LOCK TABLE account")
        reading = asyncio.create_task(rights.of(account_id) if way == "of" else rights.renew())
        while not await connection.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):
            await connection.execute("SELECT pg_sleep(0.001)")
        rights.forget(account_id)
    await reading
    assert rights.known(account_id) is None
    await accounts.block(door.database.http, account_id, "spam")

    after = await rights.of(account_id)
    assert after is not None
    assert after.blocked


async def test_the_token_of_a_deleted_account_is_invalid(door: Door) -> None:
    token = await door.access("ada")
    await door.database.http.execute("DELETE FROM account")

    status, answer = await door.call("GET", "/auth/profile/", token=token)

    assert (status, answer["error"]["code"]) == (401, "TOKEN_INVALID")


async def test_a_polling_caller_causes_no_query_for_its_rights(door: Door) -> None:
    token = await door.access("ada")
    await door.accounts.authenticate(token)
    await door.database.http.execute("ALTER TABLE account RENAME TO account_gone")

    for _ in range(100):
        await door.accounts.authenticate(token)
