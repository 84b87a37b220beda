"""Polls that are answered before the router are the same as those that take the long way, which any query does."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bookgen.limits import Budget, LimitClass, Limiter
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.store import accounts
from tests.http.conftest import Api, OpenApi

READS = 50


class SilentModel(OfflineModel):
    """Drafts an outline, and never answers a call for a chapter."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def complete(self, request: TextRequest) -> TextReply:
        if request.stage != "outline":
            self.asked.set()
            await asyncio.Event().wait()
        return await super().complete(request)


@pytest.fixture
def model() -> SilentModel:
    return SilentModel()


@pytest.fixture
async def api(open_api: OpenApi, model: SilentModel) -> Api:
    limiter = Limiter({limit: Budget(READS if limit is LimitClass.READ else 1000, 3600) for limit in LimitClass})
    return await (await open_api(model=model, limiter=limiter)).as_new_account("ada")


@pytest.fixture
async def path(api: Api, model: SilentModel) -> str:
    """The status of a book that is being written, which is kept."""
    book = await api.outlined()
    assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
    await model.asked.wait()
    path = f"/books/{book['id']}/generation-status/"
    assert (await api.get(path)).status == 200
    return path


@pytest.fixture
def only_kept(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but what is kept can be read."""

    async def read(*_: Any) -> bytes:
        raise AssertionError("This went the long way.")

    monkeypatch.setattr(api.services.supervisor.statuses, "read", read)


def _stable(headers: Mapping[str, str]) -> dict[str, str]:
    """Without what differs from answer to answer."""
    passing = ("x-request-id", "date", "ratelimit-remaining", "ratelimit-reset")
    return {name.lower(): value for name, value in headers.items() if name.lower() not in passing}


@pytest.mark.parametrize("prefix", ["/api/v1", "/api"])
async def test_a_poll_is_answered_the_same_both_ways(api: Api, path: str, prefix: str) -> None:
    short, long = await api.get(path, prefix=prefix), await api.get(f"{path}?a=b", prefix=prefix)

    assert (short.status, short.raw, _stable(short.headers)) == (long.status, long.raw, _stable(long.headers))
    assert int(short.headers["RateLimit-Remaining"]) > int(long.headers["RateLimit-Remaining"])


async def test_who_has_the_status_hears_so_both_ways(api: Api, path: str) -> None:
    known = {"If-None-Match": (await api.get(path)).headers["ETag"]}

    short, long = await api.get(path, headers=known), await api.get(f"{path}?a=b", headers=known)

    assert (short.status, short.raw) == (304, b"")
    assert (short.status, _stable(short.headers)) == (long.status, _stable(long.headers))


@pytest.mark.usefixtures("only_kept")
async def test_a_poll_of_a_kept_status_reads_nothing(api: Api, path: str) -> None:
    assert (await api.get(path, headers={"X-Request-Id": "mine"})).headers["X-Request-Id"] == "mine"


async def test_a_change_of_the_owner_is_in_the_next_poll(api: Api, path: str) -> None:
    chapter = (await api.get(path)).body["outline"][1]["id"]

    await api.patch(f"/chapters/{chapter}/", {"title": "Another title"})

    assert (await api.get(path)).body["outline"][1]["title"] == "Another title"


async def test_whoever_may_not_read_is_refused_as_ever(api: Api, path: str) -> None:
    stranger = await api.as_new_account("eve")
    await stranger.get("/books/")  # both tokens are remembered
    assert (await stranger.get(path)).status == 404
    assert (await (await api.as_nobody()).get(path)).body["error"]["code"] == "AUTHENTICATION_REQUIRED"
    assert (await api.get(path, headers={"Authorization": f"Bearer {api.access} x"})).body["error"]["code"] == (
        "TOKEN_INVALID"
    )

    await accounts.block(api.services.database.http, api.account_id, "spam")
    await api.rights.look(api.services.supervisor.end_runs)

    assert (await api.get(path)).status == 403


async def test_polls_beyond_the_budget_are_refused_and_take_nothing(api: Api, path: str) -> None:
    refused = [reply for _ in range(READS + 2) if (reply := await api.get(path)).status != 200]

    assert {reply.status for reply in refused} == {429}
    assert refused[-1].headers["RateLimit-Remaining"] == "0"
