"""`Prefer: wait=N` on the status of a run."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from bookgen.accounts.rights import RightsCache
from bookgen.actors.messages import Pause
from bookgen.http.edge import preferences
from tests.http.conftest import Api, OpenApi, Reply
from tests.http.test_generation import HeldModel, steer


@pytest.fixture
def model() -> HeldModel:
    return HeldModel()


@pytest.fixture
async def api(open_api: OpenApi, model: HeldModel) -> Api:
    return await (await open_api(model=model)).as_new_account("ada")


@pytest.fixture
async def running(api: Api, model: HeldModel) -> dict[str, Any]:
    """A book whose first chapter is being written."""
    book = await api.outlined()
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    await model.asked.wait()
    return book


def path(book: dict[str, Any]) -> str:
    return f"/books/{book['id']}/generation-status/"


async def waiter(api: Api, book: dict[str, Any], seconds: int = 60) -> asyncio.Task[Reply]:
    """A caller that has the status and is long polling for the next one."""
    before = len(api.services.supervisor.statuses.changes)
    known = (await api.get(path(book))).headers["ETag"]
    headers = {"If-None-Match": known, "Prefer": f"respond-async, wait={seconds}"}
    task = asyncio.create_task(api.get(path(book), headers=headers))
    async with asyncio.timeout(10):
        while len(api.services.supervisor.statuses.changes) == before and not task.done():
            await api.get("/healthz", prefix="")
    return task


async def test_a_long_poll_returns_at_once_on_a_change(api: Api, running: dict[str, Any]) -> None:
    waits = await waiter(api, running)
    assert not waits.done()

    assert (await steer(api, running, "pause")).status == 200

    async with asyncio.timeout(5):
        heard = await waits
    assert (heard.status, heard.body["generation_status"]) == (200, "paused")
    assert heard.headers["Preference-Applied"] == "wait=60"
    assert heard.headers["ETag"] == (await api.get(path(running))).headers["ETag"]


async def test_a_long_poll_returns_when_a_chapter_is_finished(
    api: Api, running: dict[str, Any], model: HeldModel
) -> None:
    waits = await waiter(api, running)

    model.gate.set()

    async with asyncio.timeout(5):
        assert (await waits).body["completed_chapters"] >= 1


async def test_a_long_poll_returns_on_a_change_by_another_process(
    api: Api, running: dict[str, Any], open_api: OpenApi
) -> None:
    elsewhere = await open_api()
    there = replace(elsewhere, access=api.access, account_id=api.account_id)
    waits = await waiter(there, running)

    assert (await steer(api, running, "pause")).status == 200

    async with asyncio.timeout(10):
        assert (await waits).body["generation_status"] == "paused"


async def test_a_long_poll_without_a_change_ends_with_a_304(api: Api, running: dict[str, Any]) -> None:
    waits = await waiter(api, running, seconds=1)

    reply = await waits

    assert (reply.status, reply.raw) == (304, b"")
    assert reply.headers["Preference-Applied"] == "wait=1"
    assert len(api.services.supervisor.statuses.changes) == 0


async def test_a_request_without_the_current_etag_is_answered_at_once(api: Api, running: dict[str, Any]) -> None:
    for known in ({}, {"If-None-Match": '"another"'}):
        async with asyncio.timeout(5):
            reply = await api.get(path(running), headers={"Prefer": "wait=60", **known})

        assert reply.status == 200
        assert "Preference-Applied" not in reply.headers, "nothing was waited for"


async def test_a_stopping_server_answers_long_polls_at_once(api: Api, running: dict[str, Any]) -> None:
    waits = await waiter(api, running)

    stopping = asyncio.create_task(api.services.supervisor.drain(10))

    async with asyncio.timeout(5):
        assert (await waits).status == 304
        late = await (await waiter(api, running))
        assert (late.status, "Preference-Applied" in late.headers) == (304, False)
    stopping.cancel()
    await asyncio.wait((stopping,))


async def test_the_long_polls_of_an_account_are_limited(
    api: Api, running: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preferences, "MAX_PER_ACCOUNT", 2)
    waits = [await waiter(api, running) for _ in range(2)]

    async with asyncio.timeout(5):
        third = await (await waiter(api, running))

    assert third.status == 304
    assert "Preference-Applied" not in third.headers
    assert (await steer(api, running, "stop")).status == 200
    assert [(await each).status for each in waits] == [200, 200]


def test_the_long_polls_of_all_accounts_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preferences, "MAX_TOTAL", 2)
    waiters, request = preferences.Waiters(), make_mocked_request("GET", "/", {"Prefer": "wait=5"})

    with waiters.admitted(request, 1) as first:
        with waiters.admitted(request, 2) as second, waiters.admitted(request, 3) as third:
            pass
        with waiters.admitted(request, 3) as fourth:
            pass

    assert [first, second, third, fourth] == [5, 5, 0, 5]


async def test_a_disconnected_client_frees_its_long_poll(
    api: Api, running: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preferences, "MAX_PER_ACCOUNT", 1)
    gone = await waiter(api, running)

    gone.cancel()

    async with asyncio.timeout(5):
        while len(api.services.supervisor.statuses.changes):
            await api.get("/healthz", prefix="")
    waits = await waiter(api, running)
    assert (await steer(api, running, "stop")).status == 200
    assert (await waits).headers["Preference-Applied"] == "wait=60"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], 0),
        (["wait=5"], 5),
        (["respond-async, WAIT = 7 ; strictly"], 7),
        (["return=minimal", 'wait="8"'], 8),
        (["wait=9, wait=10"], 9),
        (["wait=100000"], 60),
        (["wait=0"], 0),
        (["wait=-1"], 0),
        (["wait"], 0),
        (["await=5"], 0),
        (["wait=" + "9" * 400], 60),
    ],
)
def test_the_first_preferred_wait_counts_and_is_at_most_a_minute(headers: list[str], seconds: int) -> None:
    assert preferences.wait_seconds(headers) == seconds


async def test_an_account_blocked_during_a_long_poll_gets_no_status(
    api: Api, running: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RightsCache, "known", lambda *_: None)  # as if the five seconds had passed
    waits = await waiter(api, running)
    await api.services.database.http.execute("UPDATE account SET blocked_at = now()")

    await api.services.supervisor.ask(api.account_id, running["id"], Pause())

    async with asyncio.timeout(5):
        assert (await waits).status == 403
